// The code of a compile worker process: it receives requests and returns images, one at a time. Before each step it
// writes the step to the shared cell, so that a crash or hang can be attributed to it.
#pragma once
#include "core/compiler/frontend.h"
#include "sandbox/compile/compile_message.h"
#include "sandbox/jail/fork_server.h"

namespace kernelift::sandbox {

/// Prepares the process that workers are forked from: registers targets, precompiles headers for these options, and
/// runs the code generator once.
void warm_up_compiler(const FrontendOptions& options, CompileTarget target);

/// Runs one compile in this process. `cell` may be any memory.
CompileReply compile_here(const CompileRequest& request, const FrontendOptions& options, WorkerCell& cell);

/// Confines the process and serves requests until the channel closes.
void serve_compiles(Channel& channel, WorkerCell& cell, const FrontendOptions& options, const JailSpec& jail);

}  // namespace kernelift::sandbox
