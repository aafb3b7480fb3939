// thrust: vectors and algorithms by cub's kernels, on a stream too; functors that only the device has; in a kernel.
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "check.h"

constexpr int kCount = 20000;

struct Square {
  __device__ long long operator()(int value) const { return (long long)value * value; }
};
struct ByLastDigit {
  __host__ __device__ bool operator()(int a, int b) const { return a % 10 < b % 10; }
};

__global__ void sort_in_a_thread(int* values, int count) { thrust::sort(thrust::seq, values, values + count); }

int main() {
  thrust::host_vector<int> host(kCount);
  for (int i = 0; i < kCount; ++i) host[i] = int(i * 7919ll % 10007);
  const thrust::device_vector<int> in = host;
  std::vector<int> expected(host.begin(), host.end()), answer(kCount);
  const auto is_expected = [&](const thrust::device_vector<int>& got) {
    thrust::copy(got.begin(), got.end(), answer.begin());
    return answer == expected;
  };

  long long squares = 0;
  for (int value : host) squares += (long long)value * value;
  CHECK(thrust::transform_reduce(in.begin(), in.end(), Square(), 0ll, thrust::plus<long long>()) == squares);
  thrust::device_vector<int> work = in;
  sort_in_a_thread<<<1, 1>>>(thrust::raw_pointer_cast(work.data()), 100);
  std::sort(expected.begin(), expected.begin() + 100);
  CHECK(is_expected(work));
  // A comparison of one's own takes the merge sort, which keeps the order of equals.
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  work = in;
  thrust::stable_sort(thrust::cuda::par.on(stream), work.begin(), work.end(), ByLastDigit());
  std::copy(host.begin(), host.end(), expected.begin());
  std::stable_sort(expected.begin(), expected.end(), ByLastDigit());
  CHECK(is_expected(work));
  thrust::inclusive_scan(thrust::device, in.begin(), in.end(), work.begin());
  std::partial_sum(host.begin(), host.end(), expected.begin());
  CHECK(is_expected(work));
  const int* raw = thrust::raw_pointer_cast(in.data());
  const auto end = thrust::copy_if(thrust::device, thrust::make_counting_iterator(0), thrust::make_counting_iterator(kCount), work.begin(),
                                   [=] __device__(int i) { return raw[i] % 3 == 0; });
  work.resize(end - work.begin()), expected.clear();
  for (int i = 0; i < kCount; ++i)
    if (host[i] % 3 == 0) expected.push_back(i);
  answer.resize(expected.size());
  CHECK(is_expected(work));
  return PASS();
}
