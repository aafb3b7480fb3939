// The inside of a compile worker process: requests in, images out, one at a time. It says in the shared cell what it is
// about to do, so that whoever finds it dead or stuck knows what to blame.
#pragma once
#include "core/compiler/frontend.h"
#include "sandbox/compile/compile_message.h"
#include "sandbox/jail/fork_server.h"

namespace kernelift {

/// Everything that the workers inherit ready: targets registered, headers precompiled for these options, code generator
/// run once.
void warm_up_compiler(const FrontendOptions& options, CompileTarget target);

/// One compile, in this process. `cell` may be scratch memory.
CompileReply compile_here(const CompileRequest& request, const FrontendOptions& options, WorkerCell& cell);

/// Confines the process and serves until the channel closes.
void serve_compiles(Channel& channel, WorkerCell& cell, const FrontendOptions& options, const JailSpec& jail);

}  // namespace kernelift
