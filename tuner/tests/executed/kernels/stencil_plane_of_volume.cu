//! original | block 32, 4 | grid ceil_div(nk, 32), ceil_div(nj, 4) | at ni=6,nj=37,nk=40,i=3
#define NJ 48
#define NK 64
__global__ void convolution(int ni, int nj, int nk, float* A, float* B, int i) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  int j = blockIdx.y * blockDim.y + threadIdx.y;
  if ((i < ni - 1) && (j < nj - 1) && (k < nk - 1) && (i > 0) && (j > 0) && (k > 0) && k < NK - 1 && j < NJ - 1) {
    B[i * (NK * NJ) + j * NK + k] =
        2 * A[(i - 1) * (NK * NJ) + (j - 1) * NK + (k - 1)] + 4 * A[(i + 1) * (NK * NJ) + (j - 1) * NK + (k - 1)] +
        5 * A[(i - 1) * (NK * NJ) + (j - 1) * NK + (k - 1)] + 7 * A[(i + 1) * (NK * NJ) + (j - 1) * NK + (k - 1)] -
        8 * A[(i - 1) * (NK * NJ) + (j - 1) * NK + (k - 1)] + 10 * A[(i + 1) * (NK * NJ) + (j - 1) * NK + (k - 1)] -
        3 * A[(i + 0) * (NK * NJ) + (j - 1) * NK + (k + 0)] + 6 * A[(i + 0) * (NK * NJ) + (j + 0) * NK + (k + 0)] -
        9 * A[(i + 0) * (NK * NJ) + (j + 1) * NK + (k + 0)] + 2 * A[(i - 1) * (NK * NJ) + (j - 1) * NK + (k + 1)] +
        4 * A[(i + 1) * (NK * NJ) + (j - 1) * NK + (k + 1)] + 5 * A[(i - 1) * (NK * NJ) + (j + 0) * NK + (k + 1)] +
        7 * A[(i + 1) * (NK * NJ) + (j + 0) * NK + (k + 1)] - 8 * A[(i - 1) * (NK * NJ) + (j + 1) * NK + (k + 1)] +
        10 * A[(i + 1) * (NK * NJ) + (j + 1) * NK + (k + 1)];
  }
}
