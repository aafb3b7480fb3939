// What the runtime itself costs: an empty launch, with and without host threads to wake, a small copy, an allocation.
#include <benchmark/benchmark.h>

#include "sandbox/device/cpu/runtime/tests/registered.h"

using namespace kernelift::cudart;

namespace {

std::vector<char>& blob() {
  static std::vector<char> made = make_blob(kernelift::FatEntry::Kind::CpuImage, "image.c", test_image());
  return made;
}

void EmptyLaunch(benchmark::State& state) {
  RegisteredUnit unit(blob().data());
  for (auto _ : state)
    cudaLaunchKernel(&stub.nothing, {unsigned(state.range(0)), 1, 1}, {256, 1, 1}, nullptr, 0, nullptr);
}
BENCHMARK(EmptyLaunch)->Arg(1)->Arg(1000);

void SmallCopy(benchmark::State& state) {
  void* memory = nullptr;
  char host[64] = {};
  cudaMalloc(&memory, sizeof host);
  for (auto _ : state) cudaMemcpy(memory, host, sizeof host, kToDevice);
  cudaFree(memory);
}
BENCHMARK(SmallCopy);

void MallocFree(benchmark::State& state) {
  for (auto _ : state) {
    void* memory = nullptr;
    cudaMalloc(&memory, size_t(state.range(0)));
    cudaFree(memory);
  }
}
BENCHMARK(MallocFree)->Arg(1000)->Arg(1 << 20);

}  // namespace

BENCHMARK_MAIN();
