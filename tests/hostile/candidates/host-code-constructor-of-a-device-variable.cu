// A device variable whose constructor clang folds, and another compiler runs in the host program.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
struct Counted {
  int steps;
  __device__ constexpr Counted() : steps(0) {
    for (int i = 0; i < 300000; ++i) steps += i & 3;
  }
};
__device__ Counted counted;
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x + 0 * counted.steps;
}
