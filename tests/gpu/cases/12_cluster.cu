// Case 12c: cudaLaunchKernelEx with attributes: a cluster of 4 blocks that exchange data through distributed shared
// memory, and a priority. Replayed without its cluster, the kernel reads another block's shared memory out of bounds or
// fails to start.
//! launches: exchange == 2
//! instances: exchange >= 1
//! setting: exchange cluster
//! replay: exchange
//! breaks: drop-settings
#include <cooperative_groups.h>

#include "case.h"

__global__ void exchange(const float* from, float* to) {
  __shared__ float mine[128];
  auto cluster = cooperative_groups::this_cluster();
  mine[threadIdx.x] = from[blockIdx.x * 128 + threadIdx.x];
  cluster.sync();
  unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
  float* theirs = cluster.map_shared_rank(mine, int(next));
  to[blockIdx.x * 128 + threadIdx.x] = mine[threadIdx.x] * 2 + theirs[threadIdx.x] + float(cluster.num_blocks());
  cluster.sync();
}

int main() {
  constexpr int kBlocks = 32, kCount = kBlocks * 128;
  auto* from = device_array(ramp(kCount));
  auto* to = device_array(std::vector<float>(kCount, 0.0f));
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim.x = 4, attributes[0].val.clusterDim.y = 1, attributes[0].val.clusterDim.z = 1;
  attributes[1].id = cudaLaunchAttributePriority;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(kBlocks), config.blockDim = dim3(128), config.attrs = attributes, config.numAttrs = 2;
  for (int step = 0; step < 2; ++step) CUDA(cudaLaunchKernelEx(&config, exchange, static_cast<const float*>(from), to));
  auto got = host_copy(to, kCount);
  print_hash("to", got);
  auto start = ramp(kCount);
  return end(got[130] == start[130] * 2 + start[258] + 4 && got[3 * 128 + 1] == start[3 * 128 + 1] * 2 + start[1] + 4);
}
