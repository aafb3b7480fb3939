// cub's algorithms within a warp and within a block: the toolkit's headers, with the inline PTX that they have.
// needs: cub of the CUDA toolkit
#include <algorithm>
#include <cub/cub.cuh>
#include <numeric>
#include <vector>

#include "check.h"

constexpr int kThreads = 128, kItems = 4, kAll = kThreads * kItems;

struct Sums {
  int block[kThreads], warp[kThreads], exclusive[kThreads], aggregate, maximum[kThreads / 32];
  double scanned[kThreads];
};

__global__ void sums(const int* in, Sums* out) {
  using BlockReduce = cub::BlockReduce<int, kThreads>;
  using BlockScan = cub::BlockScan<int, kThreads>;
  using BlockScanDouble = cub::BlockScan<double, kThreads, cub::BLOCK_SCAN_WARP_SCANS>;
  using WarpReduce = cub::WarpReduce<int>;
  using WarpScan = cub::WarpScan<int>;
  __shared__ union {
    BlockReduce::TempStorage reduce;
    BlockScan::TempStorage scan;
    BlockScanDouble::TempStorage scan_double;
    WarpReduce::TempStorage warp_reduce[kThreads / 32];
    WarpScan::TempStorage warp_scan[kThreads / 32];
  } shared;
  const int t = threadIdx.x, warp = t / 32, mine = in[t];
  out->block[t] = BlockReduce(shared.reduce).Sum(mine);
  __syncthreads();
  WarpScan(shared.warp_scan[warp]).InclusiveSum(mine, out->warp[t]);
  __syncthreads();
  int aggregate;
  BlockScan(shared.scan).ExclusiveSum(mine, out->exclusive[t], aggregate);
  if (t == 0) out->aggregate = aggregate;
  __syncthreads();
  const int maximum = WarpReduce(shared.warp_reduce[warp]).Reduce(mine, [](int a, int b) { return a > b ? a : b; });
  if (t % 32 == 0) out->maximum[warp] = maximum;
  __syncthreads();
  BlockScanDouble(shared.scan_double).InclusiveSum(0.5 * mine, out->scanned[t]);
}

__global__ void sorted(const int* keys, int* sorted_keys, int* histogram) {
  using Load = cub::BlockLoad<int, kThreads, kItems, cub::BLOCK_LOAD_TRANSPOSE>;
  using Store = cub::BlockStore<int, kThreads, kItems, cub::BLOCK_STORE_WARP_TRANSPOSE>;
  using Sort = cub::BlockRadixSort<int, kThreads, kItems>;
  using Histogram = cub::BlockHistogram<unsigned char, kThreads, kItems, 16, cub::BLOCK_HISTO_SORT>;
  __shared__ union {
    Load::TempStorage load;
    Store::TempStorage store;
    Sort::TempStorage sort;
    Histogram::TempStorage histogram;
  } shared;
  __shared__ int bins[16];
  int mine[kItems];
  Load(shared.load).Load(keys, mine);
  __syncthreads();
  unsigned char low[kItems];
  for (int i = 0; i < kItems; ++i) low[i] = (unsigned char)(mine[i] & 15);
  Histogram(shared.histogram).Histogram(low, bins);
  __syncthreads();
  if (threadIdx.x < 16) histogram[threadIdx.x] = bins[threadIdx.x];
  Sort(shared.sort).Sort(mine);
  __syncthreads();
  Store(shared.store).Store(sorted_keys, mine);
}

int main() {
  int *in, *keys, *histogram;
  Sums* out;
  CUDA(cudaMallocManaged(&in, kAll * sizeof(int)));
  CUDA(cudaMallocManaged(&keys, kAll * sizeof(int)));
  CUDA(cudaMallocManaged(&histogram, 16 * sizeof(int)));
  CUDA(cudaMallocManaged(&out, sizeof(Sums)));
  for (int i = 0; i < kAll; ++i) in[i] = i * 7919 % 1009 - 500;
  sums<<<1, kThreads>>>(in, out);
  sorted<<<1, kThreads>>>(in, keys, histogram);
  CUDA(cudaDeviceSynchronize());
  CHECK(out->block[0] == std::accumulate(in, in + kThreads, 0) && out->aggregate == out->block[0]);
  int before = 0, in_warp = 0;
  for (int t = 0; t < kThreads; ++t) {
    in_warp = t % 32 ? in_warp + in[t] : in[t];
    CHECK(out->exclusive[t] == before && out->warp[t] == in_warp);
    before += in[t];
    CHECK(out->scanned[t] == 0.5 * before);
    if (t % 32 == 0) CHECK(out->maximum[t / 32] == *std::max_element(in + t, in + t + 32));
  }
  std::vector<int> expected(in, in + kAll), counts(16);
  std::sort(expected.begin(), expected.end());
  for (int value : expected) ++counts[value & 15];
  CHECK(std::equal(expected.begin(), expected.end(), keys) && std::equal(counts.begin(), counts.end(), histogram));
  return PASS();
}
