// Leaves the work to a child kernel on a stream that nobody waits for.
//! kind child-launches
//! kernel map
//! devices both
//! must refused compile_failed launch_failed
__global__ void child(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
__global__ void map(const float* in, float* out, int n, float factor) {
  if (blockIdx.x == 0 && threadIdx.x == 0)
    child<<<1024, 256, 0, cudaStreamFireAndForget>>>(in, out, n, factor);
}
