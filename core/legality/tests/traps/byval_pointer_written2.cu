//! original | block 128 | grid ceil_div(w, 128)
//! wrong trap: pointer is moved by the candidate | text b
struct View {
  float* data;
  int stride;
};
__global__ void k(View v, int w, int h) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < w) v.data[i] = 1.f;
}
//! text b
struct View {
  float* data;
  int stride;
};
__global__ void k(View v, int w, int h) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (h > 3) v.data += v.stride;
  if (i < w) v.data[i] = 1.f;
}
