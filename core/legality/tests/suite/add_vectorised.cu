//! original | block 256 | grid ceil_div(n, 256)
//! right vector: two at once | text pairs | grid ceil_div(n, 512) | if n % 2 == 0
//! right vector: four at once, the rest by the first threads | text quads | grid ceil_div(n, 1024)
//! right block: smaller | block 64 | grid ceil_div(n, 64)
//! wrong vector: not aligned | text pairs | grid ceil_div(n, 512) | `reinterpret_cast<const float2*>(x)[i]` -> `*reinterpret_cast<const float2*>(x + 2 * i + 1)` | at n=100
//! wrong vector: the rest is forgotten | text quads | grid ceil_div(n, 1024) | `/*rest*/ if (i < n % 4)` -> `if (false)` | at n=101
//! wrong vector: the pair beyond the end | text pairs | grid ceil_div(n, 512) | `i < n / 2` -> `2 * i < n` | at n=101
//! wrong vector: counts numbers | text pairs | grid ceil_div(n, 512) | `i < n / 2` -> `i < n` | at n=100
//! wrong tail: the rest one too many | text quads | grid ceil_div(n, 1024) | `/*rest*/ if (i < n % 4)` -> `if (i <= n % 4)` | at n=101
//! values sum: y twice | `x[i] + y[i]` -> `y[i] + y[i]`
__global__ void add(const float* x, const float* y, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] + y[i];
}
//! text pairs
__global__ void add(const float* x, const float* y, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / 2) {
    float2 a = reinterpret_cast<const float2*>(x)[i], b = reinterpret_cast<const float2*>(y)[i];
    reinterpret_cast<float2*>(out)[i] = make_float2(a.x + b.x, a.y + b.y);
  }
}
//! text quads
__global__ void add(const float* x, const float* y, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / 4) {
    float4 a = reinterpret_cast<const float4*>(x)[i], b = reinterpret_cast<const float4*>(y)[i];
    reinterpret_cast<float4*>(out)[i] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
  }
  /*rest*/ if (i < n % 4) {
    int j = n / 4 * 4 + i;
    out[j] = x[j] + y[j];
  }
}
