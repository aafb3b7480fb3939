// Declares sixty launches of the same kernel.
//! kind launches
//! kernel map
//! devices both
//! must no-gain over_resources refused launch_failed timed_out
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
//! launch map; gx, gy, gz; bx, by, bz; 0
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
