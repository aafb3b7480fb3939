// Answers that fit into a model's context: a document of any size, cut to a number of bytes that still say most.
#pragma once
#include "core/base/json.h"

namespace kernelift::cli::mcp {

/// The document, if it is at most `most` bytes as compact JSON; else a copy with long texts and lists cut, each of
/// which says how much of it is left out. EXPECTS: an object; `most` is a hundred at least.
Json shortened(const Json& document, size_t most);

}  // namespace kernelift::cli::mcp
