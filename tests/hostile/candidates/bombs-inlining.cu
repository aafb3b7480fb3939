// Functions that must be inlined double twenty-four times.
//! kind bombs
//! kernel map
//! devices both
//! must compile_failed compile_crashed refused timed_out over_resources no-gain
__device__ __forceinline__ float f0(float x) { return sqrtf(x * x + 1); }
__device__ __forceinline__ float f1(float x) { return f0(x * 1.5f) + f0(x + 1); }
__device__ __forceinline__ float f2(float x) { return f1(x * 1.5f) + f1(x + 2); }
__device__ __forceinline__ float f3(float x) { return f2(x * 1.5f) + f2(x + 3); }
__device__ __forceinline__ float f4(float x) { return f3(x * 1.5f) + f3(x + 4); }
__device__ __forceinline__ float f5(float x) { return f4(x * 1.5f) + f4(x + 5); }
__device__ __forceinline__ float f6(float x) { return f5(x * 1.5f) + f5(x + 6); }
__device__ __forceinline__ float f7(float x) { return f6(x * 1.5f) + f6(x + 7); }
__device__ __forceinline__ float f8(float x) { return f7(x * 1.5f) + f7(x + 8); }
__device__ __forceinline__ float f9(float x) { return f8(x * 1.5f) + f8(x + 9); }
__device__ __forceinline__ float f10(float x) { return f9(x * 1.5f) + f9(x + 10); }
__device__ __forceinline__ float f11(float x) { return f10(x * 1.5f) + f10(x + 11); }
__device__ __forceinline__ float f12(float x) { return f11(x * 1.5f) + f11(x + 12); }
__device__ __forceinline__ float f13(float x) { return f12(x * 1.5f) + f12(x + 13); }
__device__ __forceinline__ float f14(float x) { return f13(x * 1.5f) + f13(x + 14); }
__device__ __forceinline__ float f15(float x) { return f14(x * 1.5f) + f14(x + 15); }
__device__ __forceinline__ float f16(float x) { return f15(x * 1.5f) + f15(x + 16); }
__device__ __forceinline__ float f17(float x) { return f16(x * 1.5f) + f16(x + 17); }
__device__ __forceinline__ float f18(float x) { return f17(x * 1.5f) + f17(x + 18); }
__device__ __forceinline__ float f19(float x) { return f18(x * 1.5f) + f18(x + 19); }
__device__ __forceinline__ float f20(float x) { return f19(x * 1.5f) + f19(x + 20); }
__device__ __forceinline__ float f21(float x) { return f20(x * 1.5f) + f20(x + 21); }
__device__ __forceinline__ float f22(float x) { return f21(x * 1.5f) + f21(x + 22); }
__device__ __forceinline__ float f23(float x) { return f22(x * 1.5f) + f22(x + 23); }
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x + f23(x) * 0;
}
