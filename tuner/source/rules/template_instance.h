// Templates whose types are arguments, and the one instance that a text makes of each.
#pragma once
#include <set>

namespace clang {
class FunctionDecl;
}

namespace kernelift::tuner {

/// The template's only instance that has a body; null: there are several, or none. One of a template with parts that
/// only other instances have is none: an edit would not see them.
const clang::FunctionDecl* only_instance(const clang::FunctionDecl* pattern);

/// Encoded places of the template's variables whose types its arguments give; its instance has them at the same places.
std::set<unsigned> generic_variables(const clang::FunctionDecl* pattern);

}  // namespace kernelift::tuner
