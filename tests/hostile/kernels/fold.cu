// The largest of some neighbours without its sign: what it computes is exact, and many results are zeros.
//! key fold(float const*, float*, int)
//! mangled _Z4foldPKfPfi
//! buffer in float n special const
//! buffer out float n 5
//! value n int n
//! launch a 512 256 131072
//! launch b 98 256 25001 held-out
//! covers n
__global__ void fold(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 1; k < 8; ++k) x = in[(i + k) % n] > 2.0f ? in[(i + k) % n] : x;
  out[i] = x > 0 ? x : -x;
}
