//! original | block 128 | grid ceil_div(n, 128) | at n=1000
__global__ void smoothed_line(const float* x, float* out, int n) {
  __shared__ float line[128 + 6];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int at = threadIdx.x + 3;
  line[at] = i < n ? x[i] : 0.0f;
  if (threadIdx.x < 3) {
    line[at - 3] = i < 3 ? 0.0f : x[i - 3];
    line[at + 128] = i + 128 < n ? x[i + 128] : 0.0f;
  }
  __syncthreads();
  float sum = 0.0f;
  for (int d = -3; d <= 3; d++) sum += line[at + d];
  if (i < n) out[i] = sum;
}
