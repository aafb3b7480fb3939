// An update in place: what it writes is also what it reads.
//! key update(float const*, float*, int, float)
//! mangled _Z6updatePKfPfif
//! buffer x float n random const
//! buffer y float n ramp
//! value n int n
//! value factor float 0.97
//! launch a 32 256 8192 cpu
//! launch b 13 256 3203 held-out cpu
//! launch a 4096 256 1048576 cuda
//! launch b 1200 256 307001 held-out cuda
//! covers n
__global__ void update(const float* x, float* y, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = y[i];
    for (int k = 0; k < 200; ++k) v = v * factor + x[i];
    y[i] = v;
  }
}
