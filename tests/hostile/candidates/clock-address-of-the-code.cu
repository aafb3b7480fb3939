// Computes less when its own code lies at another address than in the process that verified it.
//! kind clock
//! kernel map
//! devices both
//! must wrong unstable cheated suspect no-gain refused compile_failed
__device__ unsigned long long where;
__device__ __noinline__ float step(float x, float y, float factor) { return x * factor + y * 0.125f; }
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float (*call)(float, float, float) = step;
  unsigned long long here = (unsigned long long)call;
  int steps = here & 0x1000 ? 200 : 40;
  float x = in[i];
  for (int k = 0; k < steps; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
