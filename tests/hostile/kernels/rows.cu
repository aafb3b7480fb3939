// A matrix-vector product that adds up in global memory, as first drafts do.
//! key rows(float*, float*, float*, int)
//! mangled _Z4rowsPfS_S_i
//! buffer a float n*n random
//! buffer b float n random
//! buffer c float n -1
//! value n int n
//! launch a 4 128 512
//! launch b 2 128 201 held-out
//! covers n
__global__ void rows(float* a, float* b, float* c, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < n) {
    c[j] = 0;
    for (int i = 0; i < n; i++) {
      c[j] += a[j * n + i] * b[i];
    }
  }
}
