// Launches a kernel from the kernel.
//! kind child-launches
//! kernel map
//! devices both
//! must refused compile_failed launch_failed
__global__ void child(float* out) { out[threadIdx.x] = 0; }
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) child<<<1, 32>>>(out);
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
