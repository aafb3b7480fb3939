// The regular grid of all fields. x is the fastest index.
#pragma once

#ifdef __CUDACC__
#define HEAT_BOTH __host__ __device__
#else
#define HEAT_BOTH
#endif

namespace heat {

struct Extent {
  int nx, ny, nz;

  HEAT_BOTH int cells() const { return nx * ny * nz; }
  HEAT_BOTH int at(int x, int y, int z) const { return (z * ny + y) * nx + x; }
};

inline int divide_up(int n, int by) { return (n + by - 1) / by; }

}  // namespace heat
