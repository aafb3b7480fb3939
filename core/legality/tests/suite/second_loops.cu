//! original | block 128 | grid ceil_div(m, 128)
//! right loop: four at once, then the rest | text rest
//! right loop: the second goes on where the first ends | text goes_on
//! right loop: a pointer goes along | text pointer
//! right loop: whole parts of any length, then the rest | text parts
//! wrong loop: the rest begins too late | text rest | `int j = n - n % 4; j < n` -> `int j = n - n % 4 + 1; j < n` | at m=100, n=10, w=3
//! wrong loop: the rest goes too far | text rest | `int j = n - n % 4; j < n` -> `int j = n - n % 4; j <= n` | at m=100, n=10, w=3
//! wrong loop: fours go too far | text rest | `j < n - n % 4; j += 4` -> `j < n; j += 4` | at m=100, n=10, w=3
//! wrong loop: the rest of parts goes too far | text parts | `int j = n / w * w; j < n` -> `int j = n / w * w; j <= n` | at m=100, n=10, w=3
//! values loop: the rest twice | text rest | `+= a[i + j * m];` -> `+= 2 * a[i + j * m];`
__global__ void columns(const float* a, float* c, int m, int n, int w) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m || w < 1) return;
  float s = 0;
  for (int j = 0; j < n; ++j) s += a[i + j * m];
  c[i] = s;
}
//! text rest
__global__ void columns(const float* a, float* c, int m, int n, int w) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m || w < 1) return;
  float s = 0;
  for (int j = 0; j < n - n % 4; j += 4)
    s += a[i + j * m] + a[i + (j + 1) * m] + a[i + (j + 2) * m] + a[i + (j + 3) * m];
  for (int j = n - n % 4; j < n; ++j) s += a[i + j * m];
  c[i] = s;
}
//! text goes_on
__global__ void columns(const float* a, float* c, int m, int n, int w) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m || w < 1) return;
  float s = 0;
  int j = 0;
  for (; j < n / 4 * 4; j += 4) s += a[i + j * m] + a[i + (j + 1) * m] + a[i + (j + 2) * m] + a[i + (j + 3) * m];
  for (; j < n; ++j) s += a[i + j * m];
  c[i] = s;
}
//! text pointer
__global__ void columns(const float* a, float* c, int m, int n, int w) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m || w < 1) return;
  float s = 0;
  const float* p = a + i;
  for (int q = n / 4; q > 0; --q) {
    s += p[0] + p[m] + p[2 * m] + p[3 * m];
    p += 4 * m;
  }
  for (int j = (n / 4) * 4; j < n; ++j, p += m) s += *p;
  c[i] = s;
}
//! text parts
__global__ void columns(const float* a, float* c, int m, int n, int w) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m || w < 1) return;
  float s = 0;
  for (int j = 0; j < n / w * w; ++j) s += a[i + j * m];
  for (int j = n / w * w; j < n; ++j) s += a[i + j * m];
  c[i] = s;
}
