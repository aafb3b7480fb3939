//! original | block 1 | grid 1
//! wrong trap: a loop that begins at a product | text b
__global__ void k(char* out, int n, int a, int b) {
  for (long long j = (long long)a * b; j < n; ++j) out[j] = 1;
}
//! text b
__global__ void k(char* out, int n, int a, int b) {
  for (int j = a * b; j < n; ++j) out[j] = 1;
}
