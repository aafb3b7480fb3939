// A Recipe put to work on device IR: fast-math flags on instructions, LLVM's process-wide options, and the pass
// pipeline, each pass announced before it runs so that a crash has a name. Runs in a compile worker only: the options
// stay set for the rest of the process.
#pragma once
#include <functional>
#include <string>

#include "core/base/result.h"
#include "core/model/candidate.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace kernelift {

/// True if the recipe sets something that outlives the compile: the worker must then be retired.
bool leaves_traces(const Recipe& recipe);

/// Sets unroll threshold and further options through LLVM's command-line parser. An unknown one is Refused by name.
Status set_options(const Recipe& recipe);

/// Adds the flags to every floating-point operation; those that say that all numbers are finite (nnan, ninf) not to
/// those of libdevice, whose functions ask that themselves. An unknown flag is Refused by name, and so are these where
/// the kernel asks whether a number is finite, or has one that is not: its answer to that would be lost, and no
/// recorded launch may show it.
Status add_fast_math(llvm::Module& module, const Recipe& recipe);

/// How sums of products are rounded.
enum class Fusing {
  AsCompiled,  ///< As the backend sees fit.
  Never,       ///< Every operation on its own.
  First,  ///< Of a * b + c * d the sum is fused with a * b, c * d is rounded before. The backend takes the one here and
  Second,  ///< the other there: in vector code, where it has more to choose from, not as in scalar code.
};
/// Returns how many sums this changes.
int fuse(llvm::Module& module, Fusing fusing);

/// Called with "licm on saxpy" before each pass.
using Announce = std::function<void(const std::string&)>;

/// Runs Recipe::passes, or else the default pipeline of Recipe::level. The module is verified afterwards: a pipeline
/// that leaves broken IR is an Error, like a text that is not a pipeline. `machine` may be null.
Status run_passes(llvm::Module& module, const Recipe& recipe, llvm::TargetMachine* machine, const Announce& announce);

}  // namespace kernelift
