//! original | block 16, 8 | grid ceil_div(n, 16), ceil_div(n, 8) | at n=100
#define PITCH 128
__global__ void jacobi(int n, float* A, float* B) {
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  int j = blockIdx.x * blockDim.x + threadIdx.x;

  if ((i >= 1) && (i < (n - 1)) && (j >= 1) && (j < (n - 1)) && j < PITCH) {
    B[i * PITCH + j] = 0.2f * (A[i * PITCH + j] + A[i * PITCH + (j - 1)] + A[i * PITCH + (1 + j)] +
                               A[(1 + i) * PITCH + j] + A[(i - 1) * PITCH + j]);
  }
}
