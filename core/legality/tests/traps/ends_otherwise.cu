//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: traps at one size | text b
//! wrong trap: traps for a value in a loop, before anything is written | text c
//! wrong trap: assertion that does not hold | text d
//! wrong trap: traps for a value in a loop of its own | text e
//! wrong trap: ends the thread in a loop | text f
__global__ void k(float* out, const float* x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float s = 0;
    for (int j = 0; j < m; ++j) s += x[j];
    out[i] = s;
  }
}
//! text b
__global__ void k(float* out, const float* x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float s = 0;
    for (int j = 0; j < m; ++j) s += x[j];
    out[i] = s;
  }
  if (n == 77) __trap();
}
//! text c
__global__ void k(float* out, const float* x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float s = 0;
    for (int j = 0; j < m; ++j) {
      float v = x[j];
      if (v < 0) __trap();
      s += v;
    }
    out[i] = s;
  }
}
//! text d
extern "C" __device__ __attribute__((noreturn)) void __assertfail(const char*, const char*, unsigned, const char*,
                                                                  size_t);
__global__ void k(float* out, const float* x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float s = 0;
    for (int j = 0; j < m; ++j) s += x[j];
    out[i] = s;
  }
  if (n % 128 != 0) __assertfail("n % 128 == 0", "k.cu", 5, "k", 1);
}
//! text e
__global__ void k(float* out, const float* x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float s = 0;
    for (int j = 0; j < m; ++j) s += x[j];
    for (int j = 0; j < m; ++j)
      if (x[j] < 0) __trap();
    out[i] = s;
  }
}
//! text f
__global__ void k(float* out, const float* x, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float s = 0;
    for (int j = 0; j < m; ++j) s += x[j];
    for (int j = 0; j < m; ++j)
      if (x[j] < 0) __nvvm_exit();
    out[i] = s;
  }
}
