// Applies a Recipe to device IR: fast-math flags on instructions, LLVM's process-wide options, and the pass pipeline.
// Each pass is announced before it runs, so that a crash can be attributed to it. For compile workers only: the options
// stay set for the rest of the process.
#pragma once
#include <functional>
#include <string>

#include "core/base/result.h"
#include "core/model/candidate/candidate.h"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace kernelift {

/// True if the recipe sets options that outlive the compile: the worker must then be ended.
bool leaves_traces(const Recipe& recipe);

/// Sets unroll and inline thresholds and further options through LLVM's command-line parser. An unknown option is
/// Refused by name.
Status set_options(const Recipe& recipe);

/// Adds the recipe's fast-math flags to every floating-point operation. The flags that assume finite numbers (nnan,
/// ninf) are not added to libdevice's functions, which test for infinities and NaNs themselves. An unknown flag is
/// Refused by name. nnan and ninf are Refused if the kernel tests whether a number is finite, or contains an infinity
/// or NaN: the test would be removed, and the recorded launches need not show it.
Status add_fast_math(llvm::Module& module, const Recipe& recipe);

/// How a sum of two products, a * b + c * d, is rounded.
enum class Fusing {
  AsCompiled,  ///< The backend chooses, in vector code perhaps differently from scalar code.
  Never,       ///< Every operation is rounded separately.
  First,       ///< The sum is fused with a * b; c * d is rounded before.
  Second,      ///< The sum is fused with c * d; a * b is rounded before.
};
/// Returns the number of operations that it changes.
int fuse(llvm::Module& module, Fusing fusing);

/// Called with "licm on saxpy" before each pass.
using Announce = std::function<void(const std::string&)>;

/// Runs Recipe::passes, or the default pipeline of Recipe::level if that is empty. The module is verified afterwards:
/// invalid IR is an Environment error, a text that is not a pipeline a Refused one. `machine` may be null.
Status run_passes(llvm::Module& module, const Recipe& recipe, llvm::TargetMachine* machine, const Announce& announce);

}  // namespace kernelift
