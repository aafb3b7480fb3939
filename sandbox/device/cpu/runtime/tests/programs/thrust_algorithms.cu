// thrust: vectors and algorithms by cub's kernels, on a stream too; functors that only the device has; in a kernel.
// needs: thrust of the CUDA toolkit
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "check.h"

constexpr int kCount = 20000;

struct Square {
  __device__ int operator()(int value) const { return value * value; }
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

  thrust::device_vector<int> work(kCount);
  thrust::transform(in.begin(), in.end(), work.begin(), Square());
  for (int& value : expected) value *= value;
  CHECK(is_expected(work));
  work = in, expected.assign(host.begin(), host.end());
  sort_in_a_thread<<<1, 1>>>(thrust::raw_pointer_cast(work.data()), 100);
  std::sort(expected.begin(), expected.begin() + 100);
  CHECK(is_expected(work));
  cudaStream_t stream;
  CUDA(cudaStreamCreate(&stream));
  thrust::inclusive_scan(thrust::cuda::par.on(stream), in.begin(), in.end(), work.begin());
  std::partial_sum(host.begin(), host.end(), expected.begin());
  CHECK(is_expected(work));
  const int* raw = thrust::raw_pointer_cast(in.data());
  const auto end =
      thrust::copy_if(thrust::device, thrust::make_counting_iterator(0), thrust::make_counting_iterator(kCount),
                      work.begin(), [=] __device__(int i) { return raw[i] % 3 == 0; });
  work.resize(end - work.begin()), expected.clear();
  for (int i = 0; i < kCount; ++i)
    if (host[i] % 3 == 0) expected.push_back(i);
  answer.resize(expected.size());
  CHECK(is_expected(work));
  return PASS();
}
