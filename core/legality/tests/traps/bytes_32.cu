//! original | block 128 | grid ceil_div(n, 128)
//! wrong trap: an offset in bytes in 32 bits | text b
__global__ void k(float4* out, int n, int a) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[a + i] = make_float4(1.f, 1.f, 1.f, 1.f);
}
//! text b
__global__ void k(float4* out, int n, int a) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  char* p = (char*)out + (long long)a * 16;
  if (i < n) *(float4*)(p + i * 16) = make_float4(1.f, 1.f, 1.f, 1.f);
}
