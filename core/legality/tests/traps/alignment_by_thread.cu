//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: vectors where only some launches have them | text b
__global__ void k(float* out, int n, int aligned) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < (aligned ? n : 0)) {
    ((float4*)out)[i] = make_float4(1.f, 1.f, 1.f, 1.f);
  } else if (i < n) {
    out[4 * i] = 1.f;
    out[4 * i + 1] = 1.f;
    out[4 * i + 2] = 1.f;
    out[4 * i + 3] = 1.f;
  }
}
//! text b
__global__ void k(float* out, int n, int aligned) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) ((float4*)out)[i] = make_float4(1.f, 1.f, 1.f, 1.f);
}
