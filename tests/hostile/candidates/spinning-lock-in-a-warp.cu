// Threads of a warp take a spin lock in turn and the holder waits for a lane that waits for the lock.
//! kind spinning
//! kernel map
//! devices both
//! must crashed timed_out no-gain
__device__ int lock;
__global__ void map(const float* in, float* out, int n, float factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  while (atomicCAS(&lock, 0, 1) != 0) {}
  if (threadIdx.x != 255) atomicExch(&lock, 0);
  if (i >= n) return;
  float x = in[i];
  for (int k = 0; k < 200; ++k) x = x * factor + in[i] * 0.125f;
  out[i] = x;
}
