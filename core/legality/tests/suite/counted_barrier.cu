//! original | block 128 | grid n
//! right spelling: the condition first | `if (count[blockIdx.x] > 0) {` -> `const bool any = count[blockIdx.x] > 0; if (any) {`
//! wrong barrier: lost | `__syncthreads();` -> `` | at n=4
__global__ void turned(const int* count, float* buffer, float* out, int n) {
  const int begin = blockIdx.x * 128, t = threadIdx.x;
  if (count[blockIdx.x] > 0) {
    buffer[begin + t] = t;
    __syncthreads();
    out[begin + t] = buffer[begin + 127 - t];
  }
}
