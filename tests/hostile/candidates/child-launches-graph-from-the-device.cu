// Launches a graph from the kernel.
//! kind child-launches
//! kernel map
//! devices both
//! must refused compile_failed launch_failed
extern "C" __device__ int cudaGraphLaunch(void*, void*);
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) cudaGraphLaunch((void*)out, nullptr);
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
