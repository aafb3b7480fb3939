// An update in place: what it writes is also what it reads.
//! key update(float const*, float*, int, float)
//! mangled _Z6updatePKfPfif
//! buffer x float n random const
//! buffer y float n ramp
//! value n int n
//! value factor float 0.97
//! launch a 128 256 32768
//! launch b 50 256 12601 held-out
__global__ void update(const float* x, float* y, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = y[i];
    for (int k = 0; k < 64; ++k) v = v * factor + x[i];
    y[i] = v;
  }
}
