// The part of JSON Schema that tools describe their arguments with, and the check of a call's arguments by it: type,
// properties, required, additionalProperties (false, or a schema), items, enum, minimum, maximum, minItems, maxItems,
// maxLength.
#pragma once
#include <string>

#include "core/base/json.h"

namespace kernelift::cli::mcp {

/// A usage Error says what does not fit, by its place: "candidates[0].source is a text, not a number".
Status fits(const Json& value, const Json& schema, const std::string& place = {});

}  // namespace kernelift::cli::mcp
