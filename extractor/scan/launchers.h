// Functions of the application that launch the kernel that they are given:
//     template <class Kernel, class... Arguments>
//     void launch(Kernel kernel, dim3 grid, dim3 block, Arguments... arguments) {
//       kernel<<<grid, block>>>(arguments...);
//     }
// A call `launch(scale, (n + 127) / 128, 128, x, n)` is then a launch of scale, with its geometry and arguments.
// Followed are those that launch once, do nothing else with the kernel, and change nothing that they pass on.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "llvm/ADT/StringRef.h"

namespace clang {
class CUDAKernelCallExpr;
class CallExpr;
class Expr;
class FunctionDecl;
class ParmVarDecl;
}  // namespace clang

namespace kernelift::extractor {

struct Launcher {
  const clang::FunctionDecl* function = nullptr;
  const clang::CUDAKernelCallExpr* launch = nullptr;  ///< In its body.
  unsigned kernel = 0;                                ///< The number of the parameter that is the kernel.

  /// What a call gives in place of an expression of the launch, if that is a parameter; else nullptr.
  const clang::Expr* given(const clang::CallExpr* call, const clang::Expr* of_launch) const;
  /// What a call gives for a parameter; nullptr: nothing, or a number of which the parameter may hold another one.
  const clang::Expr* value_of(const clang::CallExpr* call, const clang::ParmVarDecl* parameter) const;
  /// Whether a variable of its own, or one that may change, has the name.
  bool is_own(llvm::StringRef name) const;
  /// The kernel's arguments as a call gives them; nullptr where the launcher computes one.
  std::vector<const clang::Expr*> arguments(const clang::CallExpr* call) const;
};

class Launchers {
 public:
  /// The launcher that is called, if it is one; else nullptr.
  const Launcher* called_by(const clang::CallExpr* call);

 private:
  std::map<const clang::FunctionDecl*, std::optional<Launcher>> known_;
};

}  // namespace kernelift::extractor
