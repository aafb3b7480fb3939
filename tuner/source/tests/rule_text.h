// Fixtures for tests of rewrite rules: a prelude in place of CUDA's headers, a kernel, and a rule's output for a text.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/file.h"
#include "core/compiler/paths.h"
#include "core/compiler/written/written_text.h"
#include "tuner/source/rules/rule.h"

namespace kernelift::tuner {

/// The declarations of CUDA that these kernels use. It parses twenty times faster than the real headers, which one test
/// uses.
inline const char* const kPrelude = R"(
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
typedef decltype(sizeof(0)) size_t;
struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x, y, z; };
struct __attribute__((aligned(8))) float2 { float x, y; };
struct __attribute__((aligned(16))) float4 { float x, y, z, w; };
struct __attribute__((aligned(16))) double2 { double x, y; };
struct __attribute__((aligned(4))) uchar4 { unsigned char x, y, z, w; };
#include <__clang_cuda_builtin_vars.h>
__device__ void __syncthreads();
template <class T> __device__ T __ldg(const T *);
__device__ float powf(float, float);
__device__ double sqrt(double);
__device__ float sqrtf(float);
__device__ float rsqrtf(float);
__device__ float expf(float);
__device__ float fmaxf(float, float);
__device__ float tanhf(float);
__device__ void sincosf(float, float *, float *);
__device__ void __sincosf(float, float *, float *);
__device__ float __expf(float);
__device__ float __powf(float, float);
__device__ float __fdividef(float, float);
__device__ void __syncwarp(unsigned);
__device__ unsigned __activemask();
__device__ int max(int, int);
template <class T> __device__ T atomicAdd(T *, T);
template <class T> __device__ T atomicMax(T *, T);
__device__ unsigned atomicInc(unsigned *, unsigned);
__device__ void __threadfence();
template <class T> __device__ T __shfl_xor_sync(unsigned, T, int);
)";

/// A matrix-vector product with its sum in global memory.
inline const std::string kProduct = R"(__global__ void k(float *a, float *b, float *c, int n) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j < n) {
    c[j] = 0;
    // The whole row.
    for (int i = 0; i < n; i++) {
      c[j] += a[j * n + i] * b[i * n + j];
    }
  }
}
)";

/// A matrix product.
inline const std::string kGemm = R"(__global__ void k(int n, float *a, float *b, float *c) {
  int j = blockIdx.x * blockDim.x + threadIdx.x;
  int i = blockIdx.y * blockDim.y + threadIdx.y;
  if ((i < n) && (j < n)) {
    float sum = c[i * n + j];
    int k;
    for (k = 0; k < n; k++) {
      float row = a[i * n + k];
      sum += row * b[k * n + j];
    }
    c[i * n + j] = sum;
  }
}
)";

inline std::vector<std::string> arguments() {
  static auto folder = *TemporaryFolder::create("prelude");
  static bool written = write_atomically(folder.path() / "prelude.h", std::string_view(kPrelude)).ok();
  EXPECT_TRUE(written);
  return {"-x",
          "cuda",
          "--cuda-device-only",
          "--cuda-gpu-arch=sm_90",
          "-nocudainc",
          "-nocudalib",
          "-Wno-unknown-cuda-version",
          "-resource-dir",
          clang_resource_folder().string(),
          "-include",
          (folder.path() / "prelude.h").string()};
}

inline RuleContext facts(uint32_t blocks = 100, uint32_t threads = 256) {
  RuleContext known;
  known.kernel = "k";
  known.geometries = {{{blocks, 1, 1}, {threads, 1, 1}}};
  known.most_threads = threads;
  known.one_after_other = true;
  return known;
}

/// Facts for a kernel with a two-dimensional block and grid.
inline RuleContext plane(uint32_t blocks = 64, uint32_t y = 8) {
  RuleContext known;
  known.kernel = "k";
  known.geometries = {{{blocks, blocks, 1}, {32, y, 1}}};
  return known;
}

inline const Rule& rule_called(std::string_view name) {
  auto& rules = all_rules();
  auto found = std::find_if(rules.begin(), rules.end(), [&](auto* rule) { return name == rule->name; });
  KERNELIFT_ASSERT(found != rules.end(), "a test names an existing rule");
  return **found;
}

inline std::vector<Opportunity> offers(const char* rule, const std::string& text, const Bindings& values,
                                       const RuleContext& known = facts()) {
  auto source = KernelSource::parse(text, arguments());
  EXPECT_TRUE(source.ok()) << (source.ok() ? "" : source.error().message);
  return source.ok() ? rule_called(rule).find(*source, known, values) : std::vector<Opportunity>();
}

/// The text with the edits of the rule's first (or n-th) opportunity, which must parse; "" if there is none.
inline std::string after(const char* rule, const std::string& text, const Bindings& values = {}, size_t nth = 0,
                         const RuleContext& known = facts()) {
  auto found = offers(rule, text, values, known);
  if (found.size() <= nth) return "";
  auto changed = apply_edits(text, found[nth].edits);
  EXPECT_TRUE(changed) << "edits overlap";
  auto again = KernelSource::parse(*changed, arguments());
  EXPECT_TRUE(again.ok()) << again.error().message << "\n" << *changed;
  // An edit may add plain device code only, or admission refuses the candidate.
  EXPECT_EQ(OwnText(text).first_refusal(written_constructs(*changed), "kernel.cu"), "") << *changed;
  return *changed;
}

}  // namespace kernelift::tuner
