// The macros that a candidate defines, ended where the candidate's text ends using them: a macro that stays defined
// would change the application's text behind the kernel.
#pragma once
#include <string>
#include <vector>

#include "core/base/result.h"
#include "reintegrate/patch/source_patch.h"

namespace kernelift::reintegrate {

struct ScopedMacros {
  std::string text;                ///< The candidate's text, with an #undef behind each new macro's last use.
  std::vector<std::string> names;  ///< The new macros.
};

/// An #undef comes behind the declaration in which the macro is used last, directly or by another macro.
Result<ScopedMacros> scope_macros(const std::string& original, const std::string& candidate);

/// Refuses a patch in which one of the macros is not undefined in the file that defines it.
Status check_scopes(const ScopedMacros& macros, const SourcePatch& patch);

}  // namespace kernelift::reintegrate
