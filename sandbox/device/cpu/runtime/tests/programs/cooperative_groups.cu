// Cooperative groups: blocks, tiles, coalesced groups, and a grid-wide barrier in a cooperative launch.
#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include "check.h"
namespace cg = cooperative_groups;

__global__ void tiles(int* out) {
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<16>(block);
  int sum = block.thread_rank();
  for (int offset = tile.size() / 2; offset > 0; offset /= 2) sum += tile.shfl_down(sum, offset);
  int first = tile.shfl(sum, 0);
  block.sync();
  bool any = tile.any(tile.thread_rank() == 3), all = tile.all(tile.thread_rank() < 15);
  int rank = block.group_index().x * block.size() + block.thread_rank();
  out[rank] = first + (any ? 1000 : 0) + (all ? 5000 : 0) + tile.meta_group_rank() * 10000;
}

__global__ void relax(float* a, float* b, int n, int steps) {
  cg::grid_group grid = cg::this_grid();
  for (int step = 0; step < steps; ++step) {
    for (int i = grid.thread_rank(); i < n; i += grid.size()) b[i] = 0.5f * (a[(i + n - 1) % n] + a[(i + 1) % n]);
    grid.sync();
    float* swap = a; a = b; b = swap;
  }
}

int main() {
  int out[128], *device_out = on_device<int>(nullptr, 128);
  tiles<<<2, 64>>>(device_out);
  to_host(out, device_out, 128);
  for (int i = 0; i < 128; ++i) {
    int tile = i % 64 / 16, sum = 16 * 16 * tile + 120;
    CHECK(out[i] == sum + 1000 + tile * 10000);
  }
  int n = 512, steps = 20, blocks = 0;
  float a[512], b[512], want[512];
  for (int i = 0; i < n; ++i) a[i] = want[i] = i % 17;
  for (int s = 0; s < steps; ++s) {
    for (int i = 0; i < n; ++i) b[i] = 0.5f * (want[(i + n - 1) % n] + want[(i + 1) % n]);
    for (int i = 0; i < n; ++i) want[i] = b[i];
  }
  float *device_a = on_device(a, n), *device_b = on_device(a, n);
  CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, relax, 64, 0));
  CHECK(blocks >= 2);
  void* arguments[] = {&device_a, &device_b, &n, &steps};
  CUDA(cudaLaunchCooperativeKernel(relax, dim3(4), dim3(64), arguments));
  to_host(b, device_a, n);
  for (int i = 0; i < n; ++i) CHECK(b[i] == want[i]);
  CHECK(cudaLaunchCooperativeKernel(relax, dim3(100000), dim3(64), arguments) == cudaErrorCooperativeLaunchTooLarge);
  return PASS();
}
