// The variables of a kernel model that tell a thread's position and the launch's geometry.
#pragma once
#include <optional>

#include "core/model/launch/expression.h"

namespace llvm {
class IntrinsicInst;
}

namespace kernelift {

/// "tid.x" and so on for a read of that register; nullopt: it reads none.
std::optional<Expression> position(const llvm::IntrinsicInst& call);

}  // namespace kernelift
