// Headers precompiled once in the test's own process: the processes that its compile pools fork inherit them. Without
// that each pool of each test parses them anew, which is most of such a test's time.
#pragma once
#include <gtest/gtest.h>

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include "core/compiler/frontend.h"
#include "core/tests/slot_folder.h"

namespace kernelift {

class WarmFrontEnd : public testing::Environment {
 public:
  enum class Place { Anywhere, FirstSlot };
  /// For sources in no folder, or for those in the first SlotFolder: what is precompiled is known by folder too.
  explicit WarmFrontEnd(Place place) : place_(place) {}
  void SetUp() override {
    SlotFolder slot;
    FrontendOptions options;
    if (place_ == Place::FirstSlot) options.folder = slot.path().string();
    llvm::LLVMContext context;
    // The second time that it sees a set of flags the front end precompiles.
    for (int i = 0; i < 2; ++i)
      ASSERT_TRUE(compile_to_device_ir(context, "__global__ void k(float* x) { x[0] += 1; }\n", options).ok());
  }

 private:
  Place place_;
};

}  // namespace kernelift
