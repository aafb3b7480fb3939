// What the front end sees of a kernel, its model needs, and clang's IR does not have: how the source spells the members
// of structures that it gets by value, and its clusters. In between they are metadata and an attribute of the kernel's
// function in device IR, which survive bitcode:
//   "kernelift.clusters"="2 x 1 x 1"
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
inline constexpr const char* kClusters = "kernelift.clusters";

/// The scalar and pointer members of one kernel's parameters.
struct ParameterMembers {
  std::string kernel;  ///< Its name in the IR.
  std::vector<std::vector<std::string>> rows;
  std::string clusters;  ///< Of __cluster_dims__: "2 x 1 x 1"; else empty.
  bool empty() const { return rows.empty() && clusters.empty(); }
  static ParameterMembers of(const clang::FunctionDecl& kernel);
  void attach(llvm::Module& module) const;
};

}  // namespace kernelift
