//! original | block 32, 8 | grid ceil_div(np, 32), ceil_div(nq, 8) | at np=64,nq=16
__global__ void inner_sums(int nq, int np, float *sum, float *a, float *c, int r) {
  int p = blockIdx.x * blockDim.x + threadIdx.x;
  int q = blockIdx.y * blockDim.y + threadIdx.y;
  if ((p < np) && (q < nq)) {
    sum[q * np + p] = (float)0.0;
    for (int s = 0; s < np; s++) {
      sum[q * np + p] = sum[q * np + p] + a[q * np + s] * c[s * np + p];
    }
  }
}
