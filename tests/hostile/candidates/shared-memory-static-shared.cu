// Declares a megabyte of shared memory.
//! kind shared-memory
//! kernel map
//! devices both
//! must over_resources refused compile_failed launch_failed crashed
__global__ void map(const float* in, float* out, int n, float factor) {
  __shared__ float large[1048576];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  large[threadIdx.x * 1024] = 1;
  __syncthreads();
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x + (large[threadIdx.x * 1024] - 1);
}
