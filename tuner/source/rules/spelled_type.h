// How the program spells the types of what it computes with. `typedef REAL real` may be float today and double
// tomorrow, as a macro or a template's argument says: what a rule writes must be right in both, so it asks here and not
// the type itself.
#pragma once
#include <optional>
#include <set>
#include <string>

#include "tuner/source/rules/kernel_source.h"

namespace clang {
class FloatingLiteral;
}

namespace kernelift {

/// The names of single precision at the declarations of all that is mentioned: "float", an alias, a macro; "" for one
/// that cannot be repeated there (a template's argument, auto).
std::set<std::string> float_names(const KernelSource& source, const clang::Stmt* root);
/// All that it computes with is spelled "float", or is no single precision.
bool only_plain_floats(const KernelSource& source, const clang::Stmt* root);
/// The same of one declaration.
bool is_plain_float(const KernelSource& source, const clang::VarDecl* variable);
/// The name in which a literal of the statement around `part` is to be written: "float", or the alias that is in it.
/// nullopt: several, or none that can be written there.
std::optional<std::string> float_name_around(const KernelSource& source, const clang::Stmt* part);
/// Nothing, or of a size that single precision bears, squared too. 1e-60 is there to keep a logarithm from zero; 1e-60f
/// is zero.
bool bears_single(const clang::FloatingLiteral* literal);
/// A macro of the program's own spells the type or what it points to, or an alias hides the pointer.
bool spelled_by_macro(const KernelSource& source, const clang::VarDecl* variable);
/// The integers that are mentioned have types of the language, or of its headers.
bool only_plain_integers(const KernelSource& source, const clang::Stmt* root);

}  // namespace kernelift
