//! original | block 64 | grid ceil_div(count, 64) | at first=10,count=128,total=100
__global__ void offset_guard(const float* x, float* out, int first, int count, int total) {
  int i = first + blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= total) return;
  out[i] = x[i] * 2.0f;
}
