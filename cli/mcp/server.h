// `kernelift mcp`: a server of the Model Context Protocol, on stdin and stdout for one client, until that ends, or on a
// port of this machine for any number of clients that have the token.
#pragma once
#include <optional>

#include "cli/mcp/toolbox.h"
#include "cli/verb.h"

namespace kernelift::cli::mcp {

/// Serves until stdin ends, or, on a port, until this process is asked to end; leaves no process behind. Port 0 is any
/// free one.
Result<Exit> serve(const Application& application, const ToolboxOptions& options, std::optional<uint16_t> port,
                   const Context& context);

}  // namespace kernelift::cli::mcp
