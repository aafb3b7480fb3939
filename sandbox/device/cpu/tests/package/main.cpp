// A program outside the tree that uses the installed package: lowers a kernel from LLVM's assembly text and runs it.
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IRReader/IRReader.h>
#include <llvm/Support/SourceMgr.h>

#include <cstdio>
#include <vector>

#include "sandbox/device/cpu/cpu_device.h"

namespace {

// __global__ void twice(int* x) { x[threadIdx.x] *= 2; }
constexpr const char* kKernel = R"(
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @twice(ptr %x) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext i32 %t to i64
  %p = getelementptr i32, ptr %x, i64 %i
  %v = load i32, ptr %p
  %w = shl i32 %v, 1
  store i32 %w, ptr %p
  ret void
}
)";

int fail(const char* what, const char* why) {
  std::fprintf(stderr, "%s: %s\n", what, why);
  return 1;
}

}  // namespace

int main() {
  using namespace kernelift;
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  auto module = llvm::parseIR(llvm::MemoryBufferRef(kKernel, "twice"), problem, context);
  if (!module) return fail("parse", problem.getMessage().str().c_str());
  auto lowered = cpu::lower(std::move(module));
  if (!lowered.ok()) return fail("lower", lowered.error().message.c_str());
  auto image = cpu::LoadedImage::load(lowered->elf, "twice");
  if (!image.ok()) return fail("load", image.error().message.c_str());
  std::vector<int> x = {1, 2, 3, 4};
  int* argument = x.data();
  const auto outcome = cpu::launch(*(*image)->find_kernel("twice"), {{1, 1, 1}, {4, 1, 1}}, &argument);
  if (!outcome.ok()) return fail("launch", outcome.detail.c_str());
  return x == std::vector<int>{2, 4, 6, 8} ? 0 : fail("launch", "wrong results");
}
