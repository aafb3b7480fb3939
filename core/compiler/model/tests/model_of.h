// The model of the one kernel of a text, for tests.
#pragma once
#include <gtest/gtest.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include "core/compiler/frontend.h"
#include "core/compiler/model/model_builder.h"

namespace kernelift {

inline KernelModel model_of(const std::string& source, Dim3 block = {128, 1, 1}) {
  llvm::LLVMContext context;
  auto ir = compile_to_device_ir(context, source, {});
  EXPECT_TRUE(ir.ok()) << ir.error().message;
  if (!ir.ok()) return {};
  std::string name;
  for (auto& function : *ir->module)
    if (!function.isDeclaration() && function.getCallingConv() == llvm::CallingConv::PTX_Kernel)
      name = function.getName().str();
  auto model = build_kernel_model(*ir->module, name, block);
  EXPECT_TRUE(model.ok());
  return model.ok() ? *model : KernelModel();
}

}  // namespace kernelift
