// How the source spells the members of structures that kernels get by value: the front end sees them, a kernel model
// shows them. In between they are metadata of the kernel's function in device IR, which survives bitcode:
//   !kernelift.members !{!{!"1", !"8", !"int", !".size.x"}, …}    parameter, byte offset, type, path
#pragma once
#include <string>
#include <vector>

namespace clang {
class ASTConsumer;
class FunctionDecl;
}  // namespace clang
namespace llvm {
class Module;
}

namespace kernelift {

inline constexpr const char* kMembersMetadata = "kernelift.members";

/// The scalar and pointer members of one kernel's parameters.
struct ParameterMembers {
  std::string kernel;  ///< Its name in the IR.
  std::vector<std::vector<std::string>> rows;
  static ParameterMembers of(const clang::FunctionDecl& kernel);
  void attach(llvm::Module& module) const;
};

}  // namespace kernelift
