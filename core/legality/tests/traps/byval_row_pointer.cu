//! original | block 128 | grid ceil_div(w, 128)
//! wrong trap: the first row alone | text b
struct View {
  float* data;
  int stride;
};
__global__ void k(View v, int w, int h) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= w) return;
  for (int j = 0; j < h; ++j) {
    v.data[i] = 1.f;
    v.data += v.stride;
  }
}
//! text b
struct View {
  float* data;
  int stride;
};
__global__ void k(View v, int w, int h) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= w) return;
  if (h > 0) v.data[i] = 1.f;
}
