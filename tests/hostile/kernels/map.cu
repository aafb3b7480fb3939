// One value from one value, with enough arithmetic that skipping it pays; the input is a formula of the index.
//! key map(float const*, float*, int, float)
//! mangled _Z3mapPKfPfif
//! buffer in float n ramp const
//! buffer out float n -1
//! value n int n
//! value factor float 0.97
//! launch a 32 256 8192 cpu
//! launch b 13 256 3203 held-out cpu
//! launch a 4096 256 1048576 cuda
//! launch b 1200 256 307001 held-out cuda
//! covers n
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
