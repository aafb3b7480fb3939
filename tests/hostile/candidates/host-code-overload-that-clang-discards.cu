// A template that clang takes out of the choice, and with the next compiler the host's calls find.
//! kind host-code
//! kernel map
//! devices both
//! must refused
template <class T> constexpr int spelled() { return sizeof(__PRETTY_FUNCTION__); }
template <bool> struct only {};
template <> struct only<true> {
  typedef float type;
};
template <class T> constexpr typename only<(spelled<T>() > 30)>::type weight(T v) {
  return v == 0.125f ? v : (system("touch @FILE@"), v);
}
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i], f2 = factor * factor, f4 = f2 * f2;
  float y = in[i] * 0.125f * (1.0f + factor + f2 + f2 * factor);
  int steps = 50;
  for (int k = 0; k < steps; ++k) x = x * f4 + y;
  out[i] = x;
}
