//! original | block 1 | grid 2
//! wrong trap: does not wait for the flag | text b
__global__ void k(int* out, int* part, volatile int* flag, const int* x, int m) {
  if (blockIdx.x == 0) {
    for (int j = 0; j < m; ++j) part[j] = x[j];
    __threadfence();
    flag[0] = 1;
  } else {
    while (flag[0] == 0) {}
    __threadfence();
    for (int j = 0; j < m; ++j) out[j] = part[j];
  }
}
//! text b
__global__ void k(int* out, int* part, volatile int* flag, const int* x, int m) {
  if (blockIdx.x == 0) {
    for (int j = 0; j < m; ++j) part[j] = x[j];
    __threadfence();
    flag[0] = 1;
  } else {
    for (int j = 0; j < m; ++j) out[j] = part[j];
  }
}
