// Its step is a device function template.
//! kernel map
//! devices both
template <int N> __device__ __forceinline__ float steps(float x, float y, float factor) {
  for (int k = 0; k < N; ++k) x = x * factor + y;
  return x;
}
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = steps<200>(in[i], in[i] * 0.125f, factor);
}
