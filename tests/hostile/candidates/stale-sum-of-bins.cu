// Does nothing if the bins add up to the number of inputs already.
//! kind stale
//! kernel count
//! devices both
//! must wrong unstable cheated suspect no-gain
__global__ void count(const int* in, int* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __shared__ int sum;
  if (threadIdx.x == 0) {
    sum = 0;
    for (int k = 0; k < 256; ++k) sum += bins[k];
  }
  __syncthreads();
  if (sum == n) return;
  if (i < n) atomicAdd(&bins[in[i] & 255], 1);
}
