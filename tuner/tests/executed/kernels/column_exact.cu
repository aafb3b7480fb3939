//! original | block 64 | grid m | at m=3,n=45
__global__ void column_exact(const int* a, int* total, int n, int m) {
  int j = blockIdx.x * 64 + threadIdx.x;
  int sum = a[j];
  for (int i = 1; i <= n; i += 2) sum -= a[i * m * 64 + j];
  total[j] = sum;
}
