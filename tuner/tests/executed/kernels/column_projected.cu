//! original | block 64 | grid ceil_div(nj, 64) | at ni=37,nj=128,k=2
__global__ void column_projected(int ni, int nj, float *a, float *r, float *q, int k) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if ((j > k) && (j < nj)) {
    r[k * nj + j] = 0.0;

    int i;
    for (i = 0; i < ni; i++) {
      r[k * nj + j] += q[i * nj + k] * a[i * nj + j];
    }

    for (i = 0; i < ni; i++) {
      a[i * nj + j] -= q[i * nj + k] * r[k * nj + j];
    }
  }
}
