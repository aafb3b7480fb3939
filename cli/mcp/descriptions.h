// The tools as a client sees them: names, what they are for, and schemas of their arguments.
#pragma once
#include <vector>

#include "cli/mcp/protocol/session.h"

namespace kernelift::cli::mcp {

inline constexpr int kLongestSource = 1 << 20;  ///< Bytes of a candidate's text, or of the file that holds it.

std::vector<ToolDescription> tool_descriptions();
/// For a model: the order in which the tools are used, and what may be claimed.
std::string instructions_text();

}  // namespace kernelift::cli::mcp
