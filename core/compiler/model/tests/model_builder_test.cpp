#include "core/compiler/model/model_builder.h"
#include <gtest/gtest.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include "core/compiler/frontend.h"
#include <fstream>
#include <sstream>
namespace kernelift {
TEST(X, Y) {
  std::ifstream f(getenv("KM")); std::stringstream s; s<<f.rdbuf();
  llvm::LLVMContext context;
  auto ir = compile_to_device_ir(context, s.str(), {});
  ASSERT_TRUE(ir.ok()) << ir.error().message;
  std::vector<std::string> names;
  for (auto& fn : *ir->module) if (!fn.isDeclaration() && fn.getCallingConv()==llvm::CallingConv::PTX_Kernel) names.push_back(fn.getName().str());
  for (auto& n : names) {
    auto again = compile_to_device_ir(context, s.str(), {});
    auto m = build_kernel_model(*again->module, n, Dim3{256,1,1});
    ASSERT_TRUE(m.ok());
    std::printf("== %s\n%s", n.c_str(), to_text(*m).c_str());
  }
}
}
