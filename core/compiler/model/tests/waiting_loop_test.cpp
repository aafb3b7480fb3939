// Claims about core/compiler/model/waiting_loop.h.
#include "core/compiler/model/waiting_loop.h"

#include <gtest/gtest.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include "core/compiler/frontend.h"

namespace kernelift {
namespace {

std::vector<Wait> waits_in(const std::string& source) {
  llvm::LLVMContext context;
  auto ir = compile_to_device_ir(context, source, {});
  EXPECT_TRUE(ir.ok()) << ir.error().message;
  for (auto& function : *ir->module)
    if (!function.isDeclaration() && function.getCallingConv() == llvm::CallingConv::PTX_Kernel)
      return waits_of(*ir->module, function);
  ADD_FAILURE() << "no kernel";
  return {};
}

TEST(WaitingLoop, IsFoundWithItsLineAndItsMemory) {
  auto waits = waits_in(R"(__global__ void k(float* x, volatile int* flag) {
  if (threadIdx.x == 0)
    while (*flag == 0) {}
  __syncthreads();
  x[threadIdx.x] = 1;
})");
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].line, 3u);
  EXPECT_EQ(waits[0].parameter, 1);
}

TEST(WaitingLoop, IsFoundBehindCallsAndLocalVariables) {
  auto waits = waits_in(R"(__device__ int ready(unsigned* flags, int rank) { return atomicAdd(flags + rank, 0) != 0; }
__global__ void k(float* x, unsigned* flags, int rank) {
  int done = 0;
  do { done = ready(flags, rank); } while (!done);
  x[threadIdx.x] = 1;
})");
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].parameter, 1);
}

TEST(WaitingLoop, OfAnAddressFromMemoryHasNoParameter) {
  auto waits = waits_in(R"(__global__ void k(volatile int** peers, float* x) {
  while (peers[blockIdx.x][0] == 0) {}
  x[threadIdx.x] = 1;
})");
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].parameter, -1);
}

TEST(WaitingLoop, IsNotALoopThatEndsByItself) {
  EXPECT_TRUE(waits_in(R"(__global__ void k(float* x, int n, int* count) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = 1;
  while (atomicAdd(count, 1) < n) x[0] = 2;
})")
                  .empty());
}

}  // namespace
}  // namespace kernelift
