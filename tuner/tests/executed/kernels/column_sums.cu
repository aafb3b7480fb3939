//! original | block 256 | grid ceil_div(m, 256) | at m=512,n=37
__global__ void column_sums(float *a, float *r, float *s, int n, int m) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;

  if (j < m)
  {
    s[j] = 0.0f;
    int i;
    for(i = 0; i < n; i++)
    {
      s[j] += r[i] * a[i * m + j];
    }
  }
}
