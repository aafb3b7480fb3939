// cub's algorithms over whole arrays: blocks that hand values to later blocks, launches chosen by the function's
// attributes. needs: cub of the CUDA toolkit
#include <algorithm>
#include <cub/cub.cuh>
#include <numeric>
#include <vector>

#include "check.h"

constexpr int kCount = 30000, kSegments = 100, kBins = 32;

/// Asks how much room an algorithm needs, then runs it.
template <class Algorithm>
void run(Algorithm&& algorithm) {
  size_t bytes = 0;
  CUDA(algorithm(nullptr, bytes));
  void* room;
  CUDA(cudaMalloc(&room, bytes));
  CUDA(algorithm(room, bytes));
  CUDA(cudaDeviceSynchronize());
  CUDA(cudaFree(room));
}

template <class T>
T* managed(size_t count) {
  T* memory;
  CUDA(cudaMallocManaged(&memory, count * sizeof(T)));
  return memory;
}

struct Odd {
  __device__ bool operator()(int value) const { return value & 1; }
};

int main() {
  int *in = managed<int>(kCount), *out = managed<int>(kCount), *values = managed<int>(kCount),
      *from = managed<int>(kCount);
  int *one = managed<int>(1), *bins = managed<int>(kBins), *offsets = managed<int>(kSegments + 1);
  for (int i = 0; i < kCount; ++i) in[i] = int(i * 7919ll % 10007) - 5000, from[i] = i;
  for (int i = 0; i <= kSegments; ++i) offsets[i] = i * kCount / kSegments;
  std::vector<int> expected(kCount);

  run([&](void* room, size_t& bytes) { return cub::DeviceReduce::Sum(room, bytes, in, one, kCount); });
  CHECK(*one == std::accumulate(in, in + kCount, 0));
  run([&](void* room, size_t& bytes) { return cub::DeviceScan::InclusiveSum(room, bytes, in, out, kCount); });
  std::partial_sum(in, in + kCount, expected.begin());
  CHECK(std::equal(expected.begin(), expected.end(), out));
  run([&](void* room, size_t& bytes) { return cub::DeviceSelect::If(room, bytes, in, out, one, kCount, Odd()); });
  expected.resize(std::copy_if(in, in + kCount, expected.begin(), [](int value) { return value & 1; }) -
                  expected.begin());
  CHECK(*one == int(expected.size()) && std::equal(expected.begin(), expected.end(), out));
  run([&](void* room, size_t& bytes) {
    return cub::DeviceHistogram::HistogramEven(room, bytes, in, bins, kBins + 1, -5000, 5008, kCount);
  });
  std::vector<int> counts(kBins);
  for (int i = 0; i < kCount; ++i)
    ++counts[(in[i] + 5000) / 313 < kBins ? (in[i] + 5000) * int64_t(kBins) / 10008 : kBins - 1];
  CHECK(std::equal(counts.begin(), counts.end(), bins));
  run([&](void* room, size_t& bytes) {
    return cub::DeviceSegmentedReduce::Max(room, bytes, in, out, kSegments, offsets, offsets + 1);
  });
  for (int i = 0; i < kSegments; ++i) CHECK(out[i] == *std::max_element(in + offsets[i], in + offsets[i + 1]));
  run([&](void* room, size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(room, bytes, in, out, from, values, kCount);
  });
  std::stable_sort(from, from + kCount, [&](int a, int b) { return in[a] < in[b]; });
  CHECK(std::equal(from, from + kCount, values));
  for (int i = 0; i < kCount; ++i) CHECK(out[i] == in[from[i]]);
  return PASS();
}
