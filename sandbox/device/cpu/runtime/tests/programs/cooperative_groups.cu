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
    float* swap = a;
    a = b;
    b = swap;
  }
}

/// Of each thread: which of its parent's tiles its own is, of how many; and what a tile of a generic group has.
__global__ void nested(int* out) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  auto quad = cg::tiled_partition<4>(warp);
  cg::thread_block_tile<4> told = quad;
  auto label = cg::labeled_partition(warp, threadIdx.x % 3);
  auto half = cg::binary_partition(warp, threadIdx.x % 2 == 1);
  auto whole = cg::binary_partition(warp, true);
  int* mine = out + threadIdx.x * 12;
  mine[0] = quad.meta_group_rank(), mine[1] = quad.meta_group_size(), mine[2] = told.meta_group_rank(),
  mine[3] = told.meta_group_size();
  mine[4] = label.meta_group_rank(), mine[5] = label.meta_group_size(), mine[6] = half.meta_group_rank(),
  mine[7] = whole.meta_group_size();
  mine[8] = mine[9] = 0;
  if (threadIdx.x % 2) {
    cg::coalesced_group odd = cg::coalesced_threads();
    cg::thread_group generic = odd;
    cg::coalesced_group four = cg::tiled_partition(odd, 4);
    mine[8] = cg::tiled_partition(generic, 4).size(), mine[9] = four.meta_group_rank() * 100 + four.meta_group_size();
  }
  cg::thread_group block = cg::this_thread_block();
  mine[10] = cg::tiled_partition(block, 16).size(), mine[11] = cg::this_grid().is_valid();
}
__global__ void maybe_together(int* out) {
  cg::grid_group grid = cg::this_grid();
  if (grid.is_valid()) grid.sync();
  if (grid.thread_rank() == 0) *out = grid.is_valid() ? 1 : 2;
}

void check_nested() {
  int out[52 * 12], *device_out = on_device<int>(nullptr, 52 * 12);
  nested<<<1, 52>>>(device_out);  // The second warp has 20 threads.
  to_host(out, device_out, 52 * 12);
  for (int t = 0; t < 32; ++t) {
    const int* mine = out + t * 12;
    CHECK(mine[0] == t / 4 && mine[1] == 8 && mine[2] == t / 4 && mine[3] == 8);
    CHECK(mine[4] == t % 3 && mine[5] == 3 && mine[6] == t % 2 && mine[7] == 1);
    CHECK(mine[8] == (t % 2 ? 4 : 0) && mine[9] == (t % 2 ? t / 8 * 100 + 4 : 0));
    CHECK(mine[10] == 16 && mine[11] == 0);
  }
  CHECK(out[35 * 12] == 0 && out[36 * 12] == 1);
  CHECK(out[47 * 12 + 10] == 16 && out[48 * 12 + 10] == 4);  // The block's last tile is not full.
  maybe_together<<<2, 32>>>(device_out);
  to_host(out, device_out, 1);
  CHECK(out[0] == 2);
  void* arguments[] = {&device_out};
  CUDA(cudaLaunchCooperativeKernel(maybe_together, dim3(2), dim3(32), arguments));
  to_host(out, device_out, 1);
  CHECK(out[0] == 1);
}

int main() {
  check_nested();
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
