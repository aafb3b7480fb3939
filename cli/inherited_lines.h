// What a run inherited from earlier ones and what that saved, in sentences; from the JSON document that `tune` keeps in
// the run (docs/formats.md).
#pragma once
#include <string>
#include <vector>

#include "core/base/json.h"

namespace kernelift::cli {

/// Nothing for a document of another form.
std::vector<std::string> inherited_lines(const Json& inherited);

}  // namespace kernelift::cli
