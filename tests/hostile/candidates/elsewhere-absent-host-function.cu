// Computes less where a function of the host exists.
//! kind elsewhere
//! kernel map
//! devices both
//! must refused
template <class T> __device__ constexpr auto count(T v, int) -> decltype(weight(v), 0) { return 10; }
template <class T> __device__ constexpr int count(T v, long) { return 50; }
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i], f2 = factor * factor, f4 = f2 * f2;
  float y = in[i] * 0.125f * (1.0f + factor + f2 + f2 * factor);
  constexpr int steps = count(1.0f, 0);
  for (int k = 0; k < steps; ++k) x = x * f4 + y;
  out[i] = x;
}
