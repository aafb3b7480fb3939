// `kernelift mcp`: a server of the Model Context Protocol on stdin and stdout, for one client, until that ends.
#pragma once
#include "cli/mcp/toolbox.h"
#include "cli/verb.h"

namespace kernelift::cli::mcp {

/// Serves until stdin ends or this process is asked to end, and leaves no process behind.
Result<Exit> serve(const Application& application, const ToolboxOptions& options, const Context& context);

}  // namespace kernelift::cli::mcp
