// Named constants and an enumeration.
//! kernel map
//! devices both
constexpr int kSteps = 200;
enum { kEighth = 8 };
static const float share = 1.0f / kEighth;
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < kSteps; ++k) x = x * factor + in[i] * share;
  out[i] = x;
}
