// What check mode costs: each kernel plain and checked in turns, both on one core, in processor time. `times` is the
// ratio of the medians.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <numeric>

#include "core/base/processor_time.h"
#include "sandbox/device/cpu/tests/bench_kernels.h"
#include "sandbox/device/cpu/tests/device_test.h"

namespace kernelift::cpu {
namespace {

constexpr const char* kKernels = R"(
__global__ void saxpy(int n, const float* in, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2.5f * in[i] + out[i];
}
__global__ void stencil(int n, const float* in, float* out) {
  int w = 1024, i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > w && i < n - w)
    out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - w] + in[i + w]);
}
__global__ void polynomial(int n, const float* in, float* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i], y = x;
  for (int k = 0; k < 200; ++k) y = y * x + 0.125f;
  out[i] = y;
}
__global__ void matmul(int n, const float* in, float* out) {
  __shared__ float as[16][17], bs[16][17];
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16, w = 256;
  int row = blockIdx.x / 16 * 16 + ty, column = blockIdx.x % 16 * 16 + tx;
  float sum = 0;
  for (int t = 0; t < w / 16; ++t) {
    as[ty][tx] = in[row * w + t * 16 + tx];
    bs[ty][tx] = in[(t * 16 + ty) * w + column];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += as[ty][k] * bs[k][tx];
    __syncthreads();
  }
  out[row * w + column] = sum;
}
__global__ void tree_sum(int n, const float* in, float* out) {
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (t < half) s[t] += s[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
__global__ void histogram(int n, const float* in, float* out) {
  __shared__ int bins[64];
  if (threadIdx.x < 64) bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[int(in[i]) & 63], 1);
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd((int*)&out[threadIdx.x], bins[threadIdx.x]);
}
)";

constexpr int kCount = 1 << 20;

struct Case {
  const char* kernel;
  Geometry geometry;
};
const Case kCases[] = {
    {"saxpy", grid(kCount / 256, 256)}, {"stencil", grid(kCount / 256, 256)}, {"polynomial", grid(kCount / 256, 256)},
    {"matmul", grid(256, 256)},         {"shuffle_sum", grid(256, 256)},      {"tree_sum", grid(kCount / 256, 256)},
    {"histogram", grid(256, 256)}};

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + long(values.size() / 2));
  return values[values.size() / 2];
}

void check_mode(benchmark::State& state) {
  const Case& one = kCases[state.range(0)];
  LowerOptions options;
  const TestImage plain = build(std::string(kKernels) + kShuffleSum, options);
  options.checked = true;
  const TestImage checked = build(std::string(kKernels) + kShuffleSum, options);
  std::vector<float> in(kCount), out(kCount);
  std::iota(in.begin(), in.end(), 0.0f);
  auto address = [](const std::vector<float>& of) { return reinterpret_cast<uint64_t>(of.data()); };
  AccessCheck check({{{"in", address(in), kCount * 4}, {"out", address(out), kCount * 4}}, {}});
  LaunchOptions alone, watched;
  alone.workers = watched.workers = 1, watched.check = &check;
  std::vector<double> without, with;
  for (auto _ : state) {
    auto run = [&](const TestImage& image, const LaunchOptions& launch) {
      // Of the calling thread, on which one worker runs: other programs do not count.
      const double begin = thread_seconds();
      if (!image.run_with(launch, one.kernel, one.geometry, kCount, in.data(), out.data()).ok())
        state.SkipWithError("a launch failed");
      return thread_seconds() - begin;
    };
    without.push_back(run(plain, alone)), with.push_back(run(checked, watched));
    state.SetIterationTime(without.back() + with.back());
  }
  if (!check.findings().empty()) state.SkipWithError(check.findings().front().text().c_str());
  state.SetLabel(one.kernel);
  state.counters["plain_us"] = median(without) * 1e6;
  state.counters["times"] = median(with) / median(without);
}
BENCHMARK(check_mode)
    ->DenseRange(0, std::size(kCases) - 1)
    ->UseManualTime()
    ->Iterations(15)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace kernelift::cpu

BENCHMARK_MAIN();
