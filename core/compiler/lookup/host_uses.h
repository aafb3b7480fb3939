// What host code uses of a unit's functions, by the syntax tree: a call in a constant expression, an initial value or a
// default argument may leave no trace in clang's IR, where it is folded, and be code to another compiler.
#pragma once
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/compiler/lookup/given_decls.h"

namespace clang {
class ASTConsumer;
}

namespace kernelift {

/// A function as its text has it.
struct WrittenFunction {
  std::string name;  ///< Qualified.
  std::string text;  ///< Its tokens.
  bool is_kernel = false;
  auto operator<=>(const WrittenFunction&) const = default;
};

struct HostUse {
  std::string function;  ///< Qualified.
  std::string user;      ///< The function or variable of the host from which it is reached.
};

/// Notes the functions of the given files.
std::unique_ptr<clang::ASTConsumer> note_written_functions(GivenPath path_of, std::set<WrittenFunction>& written);

/// Notes what code of the host alone, and initial values of variables, reach of the application's functions that
/// `known` does not have. `added`: a text that was put into the functions since `known` was noted.
std::unique_ptr<clang::ASTConsumer> note_host_uses(GivenPath path_of, const std::set<WrittenFunction>& known,
                                                   std::string added, std::vector<HostUse>& uses);

}  // namespace kernelift
