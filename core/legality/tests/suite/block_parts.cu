//! original | block 128 | grid ceil_div(n, 512)
//! right part: two loops | text halves
//! right part: two at once while both are inside | text pairs
//! right part: whole pairs, then the rest | text whole
//! right part: the last block apart | text last
//! right vector: four at once, or one by one | text vectors
//! wrong part: the second loop begins in the first | text halves | `start + 256 + threadIdx.x` -> `start + 192 + threadIdx.x` | at n=600
//! wrong part: the second loop is short | text halves | `i < start + 512` -> `i < start + 511` | at n=600
//! wrong part: the second of a pair may be outside | text pairs | `i + 128 < end` -> `i < end` | at n=600
//! wrong part: the last block has no bound | text last | `start + 512 <= n` -> `start <= n` | at n=600
//! wrong vector: one by one begins late | text vectors | `i + 3 < n` -> `i + 4 <= n + 1` | at n=7
//! values part: doubled | text halves | `c[i] = a[i];` -> `c[i] = 2 * a[i];`
__global__ void parts(const float* a, float* c, int n) {
  int start = blockIdx.x * blockDim.x * 4;
  for (int i = start + threadIdx.x; i < n && i < start + 512; i += blockDim.x) c[i] = a[i];
}
//! text halves
__global__ void parts(const float* a, float* c, int n) {
  int start = blockIdx.x * blockDim.x * 4;
  int i = start + threadIdx.x;
  for (; i < n && i < start + 256; i += blockDim.x) c[i] = a[i];
  for (i = start + 256 + threadIdx.x; i < n && i < start + 512; i += blockDim.x) c[i] = a[i];
}
//! text pairs
__global__ void parts(const float* a, float* c, int n) {
  int start = blockIdx.x * blockDim.x * 4;
  int end = min(n, start + 512);
  int i = start + threadIdx.x;
  for (; i + 128 < end; i += 256) c[i] = a[i], c[i + 128] = a[i + 128];
  for (; i < end; i += 128) c[i] = a[i];
}
//! text whole
__global__ void parts(const float* a, float* c, int n) {
  int start = blockIdx.x * blockDim.x * 4;
  int end = start + 512;
  if (end > n) end = n;
  int whole = start + (end - start) / 256 * 256;
  for (int i = start + threadIdx.x; i < whole; i += 256) c[i] = a[i], c[i + 128] = a[i + 128];
  for (int i = whole + threadIdx.x; i < end; i += 128) c[i] = a[i];
}
//! text last
__global__ void parts(const float* a, float* c, int n) {
  int start = blockIdx.x * blockDim.x * 4;
  if (start + 512 <= n) {
    for (int i = start + threadIdx.x; i < start + 512; i += 128) c[i] = a[i];
  } else {
    for (int i = start + threadIdx.x; i < n; i += 128) c[i] = a[i];
  }
}
//! text vectors
__global__ void parts(const float* a, float* c, int n) {
  int i = blockIdx.x * blockDim.x * 4 + threadIdx.x * 4;
  if (i + 3 < n) {
    float4 v = *(const float4*)(a + i);
    *(float4*)(c + i) = v;
  } else {
    for (; i < n; ++i) c[i] = a[i];
  }
}
