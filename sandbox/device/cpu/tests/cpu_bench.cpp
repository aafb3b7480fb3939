// The CPU device against the same loop nests in C++ by clang++ -O3 -march=native on one core, what a barrier costs on
// fibers, how launches scale over cores, and how long lowering takes.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <numeric>
#include <thread>

#include "core/base/file.h"
#include "core/base/process.h"
#include "sandbox/device/cpu/tests/bench_kernels.h"
#include "sandbox/device/cpu/tests/device_test.h"

namespace kernelift::cpu {
namespace {

constexpr const char* kDevice = R"(
extern "C" __device__ float __nv_rsqrtf(float);
extern "C" __device__ float __nv_expf(float);
__global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
__global__ void exponential(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __nv_expf(a * x[i]);
}
__global__ void stencil(int n, const float* in, float* out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
    out[y * n + x] = 0.2f * (in[y * n + x] + in[y * n + x - 1] + in[y * n + x + 1] + in[(y - 1) * n + x] + in[(y + 1) * n + x]);
}
struct Body { float x, y, z, m; };
__global__ void nbody(int n, const Body* bodies, float* force) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float fx = 0, fy = 0, fz = 0, px = bodies[i].x, py = bodies[i].y, pz = bodies[i].z;
  for (int j = 0; j < n; ++j) {
    float dx = bodies[j].x - px, dy = bodies[j].y - py, dz = bodies[j].z - pz;
    float r = __nv_rsqrtf(dx * dx + dy * dy + dz * dz + 1e-4f);
    float s = bodies[j].m * r * r * r;
    fx += dx * s; fy += dy * s; fz += dz * s;
  }
  force[3 * i] = fx; force[3 * i + 1] = fy; force[3 * i + 2] = fz;
}
__global__ void matmul(int n, const float* a, const float* b, float* c) {
  __shared__ float as[16][16], bs[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
  float sum = 0;
  for (int t = 0; t < n / 16; ++t) {
    as[ty][tx] = a[row * n + t * 16 + tx];
    bs[ty][tx] = b[(t * 16 + ty) * n + column];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += as[ty][k] * bs[k][tx];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
__global__ void barriers(int rounds, int* out) {
  for (int i = 0; i < rounds; ++i) __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = rounds;
}
__global__ void shuffles(int rounds, int* out) {
  int v = threadIdx.x;
  for (int i = 0; i < rounds; ++i) v += __shfl_xor_sync(~0u, v, 1);
  out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
__device__ void tail_of_tree(volatile float* s, int t) {
  s[t] += s[t + 32]; s[t] += s[t + 16]; s[t] += s[t + 8]; s[t] += s[t + 4]; s[t] += s[t + 2]; s[t] += s[t + 1];
}
__global__ void tree_sum(int n, const float* in, float* out) {
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = i < n ? in[i] : 0;
  __syncthreads();
  if (t < 128) s[t] += s[t + 128];
  __syncthreads();
  if (t < 64) s[t] += s[t + 64];
  __syncthreads();
  if (t < 32) tail_of_tree(s, t);
  if (t == 0) out[blockIdx.x] = s[0];
}
)";

constexpr const char* kHost = R"(
#include <cmath>
extern "C" void saxpy(int n, float a, const float* x, float* y) { for (int i = 0; i < n; ++i) y[i] = a * x[i] + y[i]; }
extern "C" void exponential(int n, float a, const float* x, float* y) { for (int i = 0; i < n; ++i) y[i] = std::exp(a * x[i]); }
extern "C" void stencil(int n, const float* in, float* out) {
  for (int y = 1; y < n - 1; ++y)
    for (int x = 1; x < n - 1; ++x)
      out[y * n + x] = 0.2f * (in[y * n + x] + in[y * n + x - 1] + in[y * n + x + 1] + in[(y - 1) * n + x] + in[(y + 1) * n + x]);
}
struct Body { float x, y, z, m; };
extern "C" void nbody(int n, const Body* bodies, float* force) {
  for (int i = 0; i < n; ++i) {
    float fx = 0, fy = 0, fz = 0, px = bodies[i].x, py = bodies[i].y, pz = bodies[i].z;
    for (int j = 0; j < n; ++j) {
      float dx = bodies[j].x - px, dy = bodies[j].y - py, dz = bodies[j].z - pz;
      float r = 1 / std::sqrt(dx * dx + dy * dy + dz * dz + 1e-4f);
      float s = bodies[j].m * r * r * r;
      fx += dx * s; fy += dy * s; fz += dz * s;
    }
    force[3 * i] = fx; force[3 * i + 1] = fy; force[3 * i + 2] = fz;
  }
}
extern "C" void matmul(int n, const float* a, const float* b, float* c) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}
)";

const TestImage& device(bool fibers = false) {
  auto make = [](bool force) {
    LowerOptions options;
    options.force_fibers = force;
    return build(std::string(kDevice) + kShuffleSum, options);
  };
  static const TestImage kImage = make(false), kFibers = make(true);
  return fibers ? kFibers : kImage;
}

template <class Function>
Function* host(const char* name) {
  static void* const kLibrary = [] {
    auto folder = TemporaryFolder::create("kernelift-bench");
    const std::string source = folder->path() / "host.cpp", library = folder->path() / "host.so";
    if (!write_atomically(source, std::string_view(kHost)).ok()) return static_cast<void*>(nullptr);
    auto built = run_process({KERNELIFT_TEST_CLANG, "-O3", "-march=native", "-shared", "-fPIC", source, "-o", library});
    if (!built.ok() || !built->ok())
      std::fprintf(stderr, "%s\n", built.ok() ? built->err.c_str() : built.error().message.c_str());
    return dlopen(library.c_str(), RTLD_NOW);
  }();
  return reinterpret_cast<Function*>(dlsym(kLibrary, name));
}

LaunchOptions on(int64_t workers) {
  LaunchOptions options;
  options.workers = unsigned(workers);
  return options;
}

struct Vectors {
  std::vector<float> x, y;
  explicit Vectors(size_t n) : x(n), y(n, 1.0f) {
    for (size_t i = 0; i < n; ++i) x[i] = float(i % 97) * 0.01f;
  }
};

// Sizes stay within the caches, so that the comparison is of code and not of memory.
constexpr int kVector = 1 << 15, kStencil = 256, kBodies = 1024, kMatrix = 256;

void map_device(benchmark::State& state, const char* kernel) {
  Vectors v(kVector);
  for (auto _ : state)
    device().run_with(on(state.range(0)), kernel, grid(kVector / 256, 256), kVector, 1e-3f, v.x.data(), v.y.data());
  state.SetItemsProcessed(int64_t(state.iterations()) * kVector);
}
void map_host(benchmark::State& state, const char* name) {
  Vectors v(kVector);
  auto* run = host<void(int, float, const float*, float*)>(name);
  for (auto _ : state) run(kVector, 1e-3f, v.x.data(), v.y.data());
  state.SetItemsProcessed(int64_t(state.iterations()) * kVector);
}
BENCHMARK_CAPTURE(map_device, saxpy, "saxpy")->Arg(1)->Arg(2);
BENCHMARK_CAPTURE(map_host, saxpy, "saxpy");
BENCHMARK_CAPTURE(map_device, exponential, "exponential")->Arg(1)->UseRealTime();
BENCHMARK_CAPTURE(map_host, exponential, "exponential");

void stencil_device(benchmark::State& state) {
  Vectors v(kStencil * kStencil);
  const Geometry geometry{.grid = {kStencil / 32, kStencil / 8, 1}, .block = {32, 8, 1}};
  for (auto _ : state) device().run_with(on(state.range(0)), "stencil", geometry, kStencil, v.x.data(), v.y.data());
  state.SetItemsProcessed(int64_t(state.iterations()) * kStencil * kStencil);
}
void stencil_host(benchmark::State& state) {
  Vectors v(kStencil * kStencil);
  auto* run = host<void(int, const float*, float*)>("stencil");
  for (auto _ : state) run(kStencil, v.x.data(), v.y.data());
  state.SetItemsProcessed(int64_t(state.iterations()) * kStencil * kStencil);
}
BENCHMARK(stencil_device)->Arg(1)->Arg(2);
BENCHMARK(stencil_host);

void nbody_device(benchmark::State& state) {
  Vectors v(kBodies * 4);
  for (auto _ : state)
    device().run_with(on(state.range(0)), "nbody", grid(kBodies / 128, 128), kBodies, v.x.data(), v.y.data());
  state.SetItemsProcessed(int64_t(state.iterations()) * kBodies * kBodies);
}
void nbody_host(benchmark::State& state) {
  Vectors v(kBodies * 4);
  auto* run = host<void(int, const void*, float*)>("nbody");
  for (auto _ : state) run(kBodies, v.x.data(), v.y.data());
  state.SetItemsProcessed(int64_t(state.iterations()) * kBodies * kBodies);
}
BENCHMARK(nbody_device)->Arg(1)->Arg(2);
BENCHMARK(nbody_host);

void matmul_device(benchmark::State& state) {
  Vectors v(kMatrix * kMatrix), c(kMatrix * kMatrix);
  const Geometry geometry{.grid = {kMatrix / 16, kMatrix / 16, 1}, .block = {16, 16, 1}};
  for (auto _ : state)
    device(state.range(1))
        .run_with(on(state.range(0)), "matmul", geometry, kMatrix, v.x.data(), v.y.data(), c.x.data());
  state.SetItemsProcessed(int64_t(state.iterations()) * kMatrix * kMatrix * kMatrix);
}
void matmul_host(benchmark::State& state) {
  Vectors v(kMatrix * kMatrix), c(kMatrix * kMatrix);
  auto* run = host<void(int, const float*, const float*, float*)>("matmul");
  for (auto _ : state) run(kMatrix, v.x.data(), v.y.data(), c.x.data());
  state.SetItemsProcessed(int64_t(state.iterations()) * kMatrix * kMatrix * kMatrix);
}
BENCHMARK(matmul_device)->Args({1, 0})->Args({2, 0})->Args({1, 1})->UseRealTime()->ArgNames({"workers", "fibers"});
BENCHMARK(matmul_host);

/// ns_per_thread: one barrier, one thread, on one core.
void waits(benchmark::State& state, const char* kernel, bool fibers) {
  const auto threads = uint32_t(state.range(0));
  constexpr int kRounds = 1000;
  std::vector<int> out(threads);
  for (auto _ : state) device(fibers).run_with(on(1), kernel, grid(1, threads), kRounds, out.data());
  state.counters["ns_per_thread"] = benchmark::Counter(double(state.iterations()) * kRounds * threads * 1e-9,
                                                       benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(waits, barrier_on_fibers, "barriers", true)->Arg(32)->Arg(256)->Arg(1024);
BENCHMARK_CAPTURE(waits, barrier_cut, "barriers", false)->Arg(256);
BENCHMARK_CAPTURE(waits, shuffle_on_fibers, "shuffles", true)->Arg(32)->Arg(256);
BENCHMARK_CAPTURE(waits, shuffle_cut, "shuffles", false)->Arg(32)->Arg(256);

/// Blocks of 256 threads, one element each, on one core.
void block_sum(benchmark::State& state, const char* kernel, bool fibers) {
  Vectors v(kVector);
  for (auto _ : state)
    device(fibers).run_with(on(1), kernel, grid(kVector / 256, 256), kVector, v.x.data(), v.y.data());
  state.counters["ns_per_thread"] = benchmark::Counter(double(state.iterations()) * kVector * 1e-9,
                                                       benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(block_sum, shuffles_on_fibers, "shuffle_sum", true);
BENCHMARK_CAPTURE(block_sum, shuffles_cut, "shuffle_sum", false);
BENCHMARK_CAPTURE(block_sum, tree_on_fibers, "tree_sum", true);
BENCHMARK_CAPTURE(block_sum, tree_cut, "tree_sum", false);

void empty_launch(benchmark::State& state) {
  std::vector<int> out(64);
  for (auto _ : state) device().run_with(on(0), "barriers", grid(1, 32), 0, out.data());
}
BENCHMARK(empty_launch);

void lowering(benchmark::State& state) {
  for (auto _ : state)
    benchmark::DoNotOptimize(lower_text(R"(
__global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
})"));
}
BENCHMARK(lowering)->Unit(benchmark::kMillisecond);

}  // namespace

void prepare_images() {
  device(false);
  device(true);
}

}  // namespace kernelift::cpu

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  // Lowered before anything is timed.
  kernelift::cpu::prepare_images();
  benchmark::RunSpecifiedBenchmarks();
}
