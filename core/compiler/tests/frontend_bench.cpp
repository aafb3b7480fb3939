// Source to PTX in this process, against `nvcc -ptx` on the same kernel: the figures of docs/benchmarks.md.
//   bin/frontend_bench            (nvcc's rows appear where a toolkit is installed)
#include <benchmark/benchmark.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include "core/base/file.h"
#include "core/base/process.h"
#include "core/compiler/clang_job.h"
#include "core/compiler/frontend.h"
#include "core/compiler/paths.h"
#include "core/compiler/ptx.h"

namespace kernelift {
namespace {

/// A different text for each iteration, so that no cache is used.
std::string kernel(int variant) {
  return "__global__ void stencil" + std::to_string(variant) +
         R"((const float* in, float* out, int n) {
  __shared__ float tile[258];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) tile[threadIdx.x + 1] = in[i];
  __syncthreads();
  if (i > 0 && i < n - 1) out[i] = sqrtf(tile[threadIdx.x] + tile[threadIdx.x + 1]) * expf(tile[threadIdx.x + 2]);
}
)";
}

void source_to_ptx(benchmark::State& state, HeaderSet headers, bool to_ptx) {
  FrontendOptions options;
  options.headers = headers;
  static int variant = 0;
  for (auto _ : state) {
    llvm::LLVMContext context;
    auto compiled = compile_to_device_ir(context, kernel(++variant), options);
    if (!compiled.ok()) return state.SkipWithError(compiled.error().message.c_str());
    if (!to_ptx) continue;
    if (auto linked = link_libdevice(*compiled->module); !linked.ok())
      return state.SkipWithError(linked.error().message.c_str());
    if (auto optimized = optimize_for_ptx(*compiled->module, options.arch); !optimized.ok())
      return state.SkipWithError(optimized.error().message.c_str());
    auto ptx = emit_ptx(*compiled->module, options.arch);
    if (!ptx.ok()) return state.SkipWithError(ptx.error().message.c_str());
    benchmark::DoNotOptimize(ptx->size());
  }
}

/// A compiler-tier candidate: the front end's output is kept and optimised again, at changing levels.
void recipe_to_ptx(benchmark::State& state) {
  FrontendOptions options;
  std::string kept;
  {
    llvm::LLVMContext context;
    auto compiled = compile_to_device_ir(context, kernel(0), options);
    if (!compiled.ok()) return state.SkipWithError(compiled.error().message.c_str());
    llvm::raw_string_ostream stream(kept);
    llvm::WriteBitcodeToFile(*compiled->module, stream);
  }
  int level = 0;
  for (auto _ : state) {
    llvm::LLVMContext context;
    auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(kept, "kept"), context);
    if (!module) return state.SkipWithError("bitcode");
    level = level % 3 + 1;
    if (!link_libdevice(**module).ok() || !optimize_for_ptx(**module, options.arch, level).ok())
      return state.SkipWithError("optimising");
    auto ptx = emit_ptx(**module, options.arch);
    if (!ptx.ok()) return state.SkipWithError(ptx.error().message.c_str());
    benchmark::DoNotOptimize(ptx->size());
  }
}

void nvcc_ptx(benchmark::State& state) {
  auto toolkit = cuda_toolkit();
  if (!toolkit) return state.SkipWithError("no CUDA toolkit");
  auto folder = TemporaryFolder::create("kernelift-bench");
  int variant = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto written = write_atomically(folder->path() / "k.cu", kernel(++variant));
    state.ResumeTiming();
    auto outcome = run_process({(*toolkit / "bin" / "nvcc").string(), "-ptx", "-arch=sm_90",
                                (folder->path() / "k.cu").string(), "-o", (folder->path() / "k.ptx").string()});
    if (!written.ok() || !outcome.ok() || !outcome->ok()) return state.SkipWithError("nvcc failed");
  }
}

void driver_only(benchmark::State& state) {
  FrontendOptions options;
  auto arguments = frontend_arguments(options);
  arguments.push_back("kernel.cu");
  for (auto _ : state) benchmark::DoNotOptimize(clang_jobs(arguments).ok());
}

BENCHMARK(driver_only)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(source_to_ptx, lean_headers, HeaderSet::Lean, true)
    ->Unit(benchmark::kMillisecond)
    ->MinWarmUpTime(4)
    ->MinTime(2);
BENCHMARK_CAPTURE(source_to_ptx, toolkit_headers_precompiled, HeaderSet::Toolkit, true)
    ->Unit(benchmark::kMillisecond)
    ->MinWarmUpTime(6)
    ->MinTime(3);
BENCHMARK_CAPTURE(source_to_ptx, lean_headers_front_end_only, HeaderSet::Lean, false)
    ->Unit(benchmark::kMillisecond)
    ->MinWarmUpTime(4)
    ->MinTime(2);
BENCHMARK(recipe_to_ptx)->Unit(benchmark::kMillisecond);
BENCHMARK(nvcc_ptx)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(7);

}  // namespace
}  // namespace kernelift
BENCHMARK_MAIN();
