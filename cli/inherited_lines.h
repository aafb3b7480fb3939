// What a run inherited from earlier ones and from the library of patterns, and what that saved, in sentences; from the
// JSON documents that `tune` keeps in the run (docs/formats.md).
#pragma once
#include <string>
#include <vector>

#include "core/base/json.h"

namespace kernelift::cli {

/// Nothing for a document of another form.
std::vector<std::string> inherited_lines(const Json& inherited);
/// The same of the library of patterns. `saved`: with how soon the search came close to its best, which
/// inherited_lines() says, too.
std::vector<std::string> pattern_lines(const Json& patterns, bool saved);

}  // namespace kernelift::cli
