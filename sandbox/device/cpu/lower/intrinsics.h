// Gives every NVVM intrinsic and CUDA runtime builtin of the module its meaning on the host.
#pragma once
#include <map>

#include "sandbox/device/cpu/lower/module/device_module.h"

namespace kernelift::cpu {

/// Refuses functions, by name and place, for what has no meaning here. What is plain arithmetic becomes calls of the
/// device library.
void lower_intrinsics(DeviceModule& device);

/// PTX's cvt to an integer: out of range saturates; NaN is 0, but the sign bit alone from double or to 64 bits.
llvm::Value* convert_to_integer(llvm::IRBuilderBase& builder, llvm::Value* value, llvm::Type* type, bool is_signed);

/// Conversions, shifts and divisions that C++ leaves undefined get the GPU's results (undefined_arithmetic.cpp).
void define_arithmetic(DeviceModule& device);
/// The part of it that is of bfloat16, once more: optimisation makes functions of its bits, for which hosts would call
/// a library that they do not have.
void define_bfloats(llvm::Module& module);

/// Values of special registers, read once at a function's entry.
class SpecialRegisters {
 public:
  explicit SpecialRegisters(llvm::Function& function) : function_(function) {}
  /// `name` as in PTX without the %: "tid.x", "laneid", "lanemask_lt". nullptr if unknown.
  llvm::Value* read(llvm::StringRef name, llvm::IRBuilderBase& at);

 private:
  llvm::Value* entry_value(llvm::StringRef name, llvm::IRBuilderBase& builder);
  llvm::Function& function_;
  std::map<std::string, llvm::Value*> known_;
};

}  // namespace kernelift::cpu
