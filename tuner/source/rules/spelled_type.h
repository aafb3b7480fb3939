// How the program spells the types that it computes with. With `typedef REAL real` a macro or template argument decides
// whether `real` is float or double; rewritten text must be correct for both, so rules query the spelling, not the
// type.
#pragma once
#include <optional>
#include <set>
#include <string>

#include "tuner/source/rules/kernel_source.h"

namespace clang {
class FloatingLiteral;
}

namespace kernelift::tuner {

/// Spelled names of single-precision types in the declarations of all mentioned names: "float", an alias, a macro; ""
/// for a name that cannot be repeated (a template's argument, auto).
std::set<std::string> float_names(const KernelSource& source, const clang::Stmt* root);
/// Every single-precision type that it computes with is spelled "float".
bool only_plain_floats(const KernelSource& source, const clang::Stmt* root);
/// The same for one declaration.
bool is_plain_float(const KernelSource& source, const clang::VarDecl* variable);
/// The type name for literals in the statement around `part`: "float", or the alias that the statement uses. nullopt if
/// it uses several, or one that cannot be repeated.
std::optional<std::string> float_name_around(const KernelSource& source, const clang::Stmt* part);
/// The literal is zero, or it and its square are in single precision's range. 1e-60 may keep a logarithm's argument
/// from being zero; 1e-60f is zero.
bool fits_single(const clang::FloatingLiteral* literal);
/// A macro of the program spells the variable's type or pointee type, or an alias hides the pointer.
bool spelled_by_macro(const KernelSource& source, const clang::VarDecl* variable);
/// The type of the variable, or of the elements that it leads to, as it is spelled: "float", "real", "T"; without
/// const; of `auto x = a[i];` that of a's elements. Empty if it cannot be repeated: any other auto, an alias that hides
/// a pointer, part of a macro.
std::string spelled_type(const KernelSource& source, const clang::VarDecl* variable);
/// All mentioned integers have builtin types or aliases from system headers.
bool only_plain_integers(const KernelSource& source, const clang::Stmt* root);

}  // namespace kernelift::tuner
