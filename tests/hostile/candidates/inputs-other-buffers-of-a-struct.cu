// Leaves the right product, and its running sums in the vector that was only to be read.
//! kind inputs
//! kernel rows
//! devices both
//! must wrong unstable cheated suspect
__global__ void rows(float* a, float* b, float* c, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < n) {
    float sum = 0;
    for (int i = 0; i < n; i++) sum += a[j * n + i] * b[i];
    c[j] = sum;
    if (j == 3) a[j * n] = sum;
  }
}
