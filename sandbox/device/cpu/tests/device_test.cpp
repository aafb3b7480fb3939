// See device_test.h.
#include "sandbox/device/cpu/tests/device_test.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IRReader/IRReader.h>
#include <llvm/Support/SourceMgr.h>

#include <stdexcept>

#include "core/base/file.h"
#include "core/compiler/clang_job.h"
#include "core/compiler/frontend.h"

namespace kernelift::cpu {

namespace {

constexpr const char* kPrelude = R"(
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#include "__clang_cuda_builtin_vars.h"
typedef unsigned long size_t;
typedef unsigned int uint;
#define __syncthreads_count(p) __nvvm_bar0_popc(p)
#define __syncthreads_and(p) __nvvm_bar0_and(p)
#define __syncthreads_or(p) __nvvm_bar0_or(p)
#define __syncwarp(m) __nvvm_bar_warp_sync(m)
#define __shfl_sync(m, v, l) __nvvm_shfl_sync_idx_i32(m, v, l, 31)
#define __shfl_up_sync(m, v, d) __nvvm_shfl_sync_up_i32(m, v, d, 0)
#define __shfl_down_sync(m, v, d) __nvvm_shfl_sync_down_i32(m, v, d, 31)
#define __shfl_xor_sync(m, v, d) __nvvm_shfl_sync_bfly_i32(m, v, d, 31)
#define __ballot_sync(m, p) __nvvm_vote_ballot_sync(m, p)
#define __all_sync(m, p) __nvvm_vote_all_sync(m, p)
#define __any_sync(m, p) __nvvm_vote_any_sync(m, p)
#define __threadfence() __nvvm_membar_gl()
#define atomicAdd(p, v) __atomic_fetch_add(p, v, __ATOMIC_RELAXED)
#define atomicExch(p, v) __atomic_exchange_n(p, v, __ATOMIC_RELAXED)
__device__ inline int atomicCAS(int* p, int expected, int desired) {
  __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
extern "C" __device__ int printf(const char*, ...);
extern "C" __device__ void* malloc(size_t);
extern "C" __device__ void free(void*);
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t) __attribute__((noreturn));
extern "C" __device__ void __kl_grid_sync();
#define assert(c) ((c) ? (void)0 : __assertfail(#c, __FILE__, __LINE__, __func__, 1))
#line 1 "test.cu"
)";

}  // namespace

namespace {

/// The snippet after the prelude, by the clang that is linked in: starting one is most of a small compile.
Result<std::string> device_bitcode(const std::string& source, const std::vector<std::string>& flags) {
  KERNELIFT_ASSIGN(TemporaryFolder folder, TemporaryFolder::create("kernelift-cpu-test"));
  const std::string input = "/test.cu", output = folder.path() / "test.bc", text = kPrelude + source;
  std::vector<std::string> line = {"-x",
                                   "cuda",
                                   "--cuda-device-only",
                                   "-c",
                                   "-emit-llvm",
                                   "-nocudainc",
                                   "-nocudalib",
                                   "--cuda-gpu-arch=sm_90",
                                   "-Wno-unknown-cuda-version",
                                   "-O2",
                                   "-Xclang",
                                   "-disable-llvm-passes",
                                   "-gline-tables-only",
                                   "-std=c++17"};
  line.insert(line.end(), flags.begin(), flags.end());
  line.insert(line.end(), {input, "-o", output});
  KERNELIFT_ASSIGN(auto jobs, clang_jobs(line));
  KERNELIFT_TRY(run_clang_job(jobs.front(), {{input, text}}));
  return read_text(output);
}

TestImage loaded(Result<LoweredImage> lowered) {
  if (!lowered.ok()) throw std::runtime_error(lowered.error().message);
  auto image = LoadedImage::load(lowered->elf, "test");
  if (!image.ok()) throw std::runtime_error(image.error().message);
  return {std::move(*lowered), std::move(*image)};
}

}  // namespace

Result<LoweredImage> lower_text(const std::string& source, const LowerOptions& options,
                                const std::vector<std::string>& flags) {
  KERNELIFT_ASSIGN(const std::string bitcode, device_bitcode(source, flags));
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseIR(llvm::MemoryBufferRef(bitcode, "test"), diagnostic, context);
  if (!module) return environment_error(diagnostic.getMessage().str());
  return lower(std::move(module), options);
}

TestImage build_with_headers(const std::string& source, const LowerOptions& options) {
  llvm::LLVMContext context;
  auto compiled = compile_to_device_ir(context, source, {});
  if (!compiled.ok()) throw std::runtime_error(compiled.error().message);
  return loaded(lower(std::move(compiled->module), options));
}

TestImage build(const std::string& source, const LowerOptions& options, const std::vector<std::string>& flags) {
  return loaded(lower_text(source, options, flags));
}

const kl_kernel& TestImage::kernel(const std::string& name) const {
  const kl_image& image = loaded->image();
  for (uint32_t i = 0; i < image.kernel_count; ++i)
    if (std::string(image.kernels[i].name).find(name) != std::string::npos) return image.kernels[i];
  throw std::runtime_error("no kernel " + name);
}

std::string TestImage::mode(const std::string& name) const {
  for (const LoweredKernel& kernel : lowered.kernels)
    if (kernel.name.find(name) != std::string::npos) return kernel.mode;
  return "";
}
std::string TestImage::reason(const std::string& name) const {
  for (const LoweredKernel& kernel : lowered.kernels)
    if (kernel.name.find(name) != std::string::npos) return kernel.mode_reason;
  return "";
}

}  // namespace kernelift::cpu
