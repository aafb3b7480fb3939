//! original | block 64 | grid ceil_div(n, 64) | at n=1030
__global__ void update(float* position, const float* velocity, const unsigned char* moves, float dt, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = moves[i] > 3 ? velocity[i] : 0.5f;
    position[i] += dt * v;
  }
}
