// A block computes nothing where one pixel in the middle of its tile is right already.
//! kind stale
//! kernel stencil
//! devices both
//! must wrong unstable cheated suspect no-gain
__global__ void stencil(const float* in, float* out, int n) {
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  auto at = [&](int x, int y) { return x >= 0 && y >= 0 && x < n && y < n ? in[y * n + x] : 0.0f; };
  auto five = [&](int x, int y) {
    return 0.5f * at(x, y) + 0.125f * (at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1));
  };
  int cx = blockIdx.x * 16 + 8, cy = blockIdx.y * 16 + 8;
  bool done = cx < n && cy < n && out[cy * n + cx] == five(cx, cy);
  __syncthreads();
  if (done) return;
  if (x < n && y < n) out[y * n + x] = five(x, y);
}
