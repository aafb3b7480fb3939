// Values among which are NaN, -0, infinities, denormals and the largest float.
//! key special(float const*, float*, int)
//! mangled _Z7specialPKfPfi
//! buffer in float n special const
//! buffer out float n 5
//! value n int n
//! launch a 512 256 131072
//! launch b 98 256 25001 held-out
//! covers n
__global__ void special(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i], y = x;
  for (int k = 0; k < 32; ++k) y = 0.5f * y + 0.5f * x;
  out[i] = x > 0 ? y : -y;
}
