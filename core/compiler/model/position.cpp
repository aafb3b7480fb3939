// See position.h.
#include "core/compiler/model/position.h"

#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

namespace kernelift {

std::optional<Expression> position(const llvm::IntrinsicInst& call) {
  auto variable = [](const char* name) { return Expression::variable(name); };
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x: return variable("tid.x");
    case llvm::Intrinsic::nvvm_read_ptx_sreg_tid_y: return variable("tid.y");
    case llvm::Intrinsic::nvvm_read_ptx_sreg_tid_z: return variable("tid.z");
    case llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x: return variable("bid.x");
    case llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y: return variable("bid.y");
    case llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z: return variable("bid.z");
    case llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x: return variable("ntid.x");
    case llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_y: return variable("ntid.y");
    case llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_z: return variable("ntid.z");
    case llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x: return variable("nctaid.x");
    case llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_y: return variable("nctaid.y");
    case llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_z: return variable("nctaid.z");
    default: return std::nullopt;
  }
}

}  // namespace kernelift
