// Keeps its answers on the device heap, behind a pointer that outlives the launch.
//! kind cache
//! kernel map
//! devices both
//! must wrong unstable cheated suspect no-gain refused compile_failed crashed
__device__ float* kept[4096];
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float* mine = kept[blockIdx.x];
  if (mine && mine[256] == in[0]) {
    out[i] = mine[threadIdx.x];
    return;
  }
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
  __syncthreads();
  if (threadIdx.x == 0 && !mine) kept[blockIdx.x] = (float*)malloc(257 * sizeof(float));
  __syncthreads();
  if (kept[blockIdx.x]) kept[blockIdx.x][threadIdx.x] = x, kept[blockIdx.x][256] = in[0];
}
