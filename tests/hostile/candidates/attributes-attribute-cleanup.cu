// Gives something beside the kernel the attribute cleanup.
//! kind attributes
//! kernel map
//! devices both
//! must refused compile_failed
__device__ void hook(int*) {}
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int guarded __attribute__((cleanup(hook))) = 0;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
