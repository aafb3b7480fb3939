// Precompiles headers once in the test's own process: the processes that its compile pools fork inherit them. Otherwise
// each pool of each test would parse them again, which would be most of the test's time.
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
  /// For sources without a folder, or for those in the first SlotFolder: precompiled headers are cached by folder too.
  explicit WarmFrontEnd(Place place) : place_(place) {}
  void SetUp() override {
    SlotFolder slot;
    FrontendOptions options;
    if (place_ == Place::FirstSlot) options.folder = slot.path().string();
    llvm::LLVMContext context;
    // The front end precompiles at the second use of a set of flags.
    for (int i = 0; i < 2; ++i)
      ASSERT_TRUE(compile_to_device_ir(context, "__global__ void k(float* x) { x[0] += 1; }\n", options).ok());
  }

 private:
  Place place_;
};

}  // namespace kernelift
