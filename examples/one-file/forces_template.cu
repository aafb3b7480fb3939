#define BLOCK 64
#define SOFTENING 0.01

struct Body {
  float x, y, z, mass;
};

__global__ void forces(const Body* bodies, float* ax, float* ay, float* az, int n) {
  // kernelift: launch grid.x = ceil_div(n, TILE), block.x = TILE
  constexpr int TILE = 128;  // kernelift: tune TILE in 32..256 times 2
  constexpr int WIDE = 4;    // kernelift: tune WIDE in 1..8 times 2
  __shared__ Body tile[TILE];
  const int i = blockIdx.x * TILE + threadIdx.x;
  const Body own = bodies[min(i, n - 1)];
  if (i < n) ax[i] = ay[i] = az[i] = 0;
  for (int first = 0; first < n; first += TILE) {
    const int mine = first + threadIdx.x;
    // Bodies behind the last one have no mass.
    tile[threadIdx.x] = mine < n ? bodies[mine] : Body{0, 0, 0, 0};
    __syncthreads();
    for (int j = 0; i < n && j < TILE; j += WIDE) {
      for (int k = j; k < j + WIDE; k++) {
        float dx = tile[k].x - own.x;
        float dy = tile[k].y - own.y;
        float dz = tile[k].z - own.z;
        float r2 = dx * dx + dy * dy + dz * dz + SOFTENING * SOFTENING;
        float inverse = 1.0 / sqrtf(r2);
        ax[i] += tile[k].mass * dx * inverse * inverse * inverse;
        ay[i] += tile[k].mass * dy * inverse * inverse * inverse;
        az[i] += tile[k].mass * dz * inverse * inverse * inverse;
      }
    }
    __syncthreads();
  }
}
