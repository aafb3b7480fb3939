// Every body is drawn to every other.
//! key forces(float const*, float const*, float*, int)
//! mangled _Z6forcesPKfS0_Pfi
//! buffer x float n random const
//! buffer m float n random const
//! buffer f float n 0
//! value n int n
//! launch a 8 128 1024
//! launch b 4 128 389 held-out
//! covers n
__global__ void forces(const float* x, const float* m, float* f, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int j = 0; j < n; ++j) {
    float d = x[j] - x[i];
    sum += m[j] * d / sqrtf((d * d + 0.01) * (d * d + 0.01) * (d * d + 0.01));
  }
  f[i] = sum;
}
