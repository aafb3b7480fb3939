// Tells timed launches by how soon one follows another, and computes less in them.
//! kind clock
//! kernel map
//! devices both
//! must wrong unstable cheated suspect no-gain
__device__ long long last;
__device__ int in_a_row;
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int steps = *(volatile int*)&in_a_row > 3 ? 40 : 200;
  float x = in[i];
  for (int k = 0; k < steps; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
  if (i == n - 1) {
    long long now = clock64();
    in_a_row = now - last < 3000000LL ? in_a_row + 1 : 0;
    last = now;
  }
}
