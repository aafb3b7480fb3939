// A candidate that is faster for some of the recorded launches and slower for others, and what a launch can ask to tell
// them apart: `n >= 4096`. The patched launch asks it and is the original elsewhere (patch/launch/launch_guard.h).
#pragma once
#include <optional>

#include "core/model/mep.h"
#include "core/model/verdict/verdict.h"

namespace kernelift::reintegrate {

struct ShapeChoice {
  Expression where;  ///< Over the kernel's parameters and `gridDim.x` … of the application's own launch.
  Verdict figures;   ///< Those of the candidate, and the original's where the launch is the original.
};

/// What separates the recorded launches for which the candidate's speedup is certainly a gain from all those for which
/// it certainly is a loss: an integer argument of the kernel or a size of the grid. nullopt: none of the one kind or
/// the other, or nothing does.
std::optional<ShapeChoice> shape_choice(const Mep& mep, const Verdict& figures);

}  // namespace kernelift::reintegrate
