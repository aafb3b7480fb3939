//! original | block 64 | grid ceil_div(n, 64)
//! wrong trap: another member of the union | text b
union Count {
  int whole;
  short half;
};
struct Sizes {
  Count count;
};
__global__ void k(float* out, Sizes sizes, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i < sizes.count.whole) out[i] = 1.f;
}
//! text b
union Count {
  int whole;
  short half;
};
struct Sizes {
  Count count;
};
__global__ void k(float* out, Sizes sizes, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && i < sizes.count.half) out[i] = 1.f;
}
