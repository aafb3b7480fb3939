// Makes the compiler warn a hundred thousand times.
//! kind flooding
//! kernel map
//! devices both
//! must refused compile_failed no-gain
#define W1 int _Pragma("GCC warning \"@MARK@\"") 
#define TEN(x) x x x x x x x x x x
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
#define W "@MARK@" + 1;
__device__ void many() { TEN(TEN(TEN(TEN("@MARK@" + 1;)))) }
