//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: second store goes to a stale element | text b
__global__ void k(int* p, int* out, const int* q, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int a = p[i];
    out[i] = q[i];
    p[i] = a + 1;
  }
}
//! text b
__global__ void k(int* p, int* out, const int* q, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int a = p[i];
    p[i] = a + 1;
    int* r = p;
    out[i] = q[i];
    int b = r[i];
    if (b == a) out[i] = 3;
    else if (a > b) out[i + n] = 1;
  }
}
