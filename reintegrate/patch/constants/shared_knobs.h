// Knobs that other kernels of the application use too, for candidates that cannot have constants of their own
// (own_constants.h). A candidate is judged by the MEP of its own kernel alone: 1.17x there can be 0.77x for the
// application, which otherwise shows only after minutes of building and timing.
//   Find    the scan lists every kernel, in any unit, whose text or launch uses a knob; tune and apply name them.
//   Judge   all of them are extracted, and their originals are judged with the new values: seconds each.
//   Rank    candidates are compared by the gain that their kernel alone would need for the same effect on the
//           application. Those that lose, make another kernel wrong, or change one of which nothing is known, are
//           passed over before anything is built.
// The effect of a changed line in a shared header is left to the application's own check and timing.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/model/mep.h"
#include "core/model/scan/scan_index.h"

namespace kernelift::reintegrate {

/// Another kernel that uses a knob whose value a candidate changes.
struct OtherKernel {
  std::string name;
  double share = 0;    ///< Its share of the application's run time.
  double speedup = 0;  ///< Speedup of its original with the new values; 0: not known.
  enum class Found {
    NotKnown,  ///< Whether it is right with the new values, for the reason in `why`: it was not recorded.
    Wrong,     ///< With the new values it fails or gives other results, as described in `why`.
    Right,
  } found = Found::NotKnown;
  std::string why = {};
};

struct SharedKnobs {
  Bindings knobs;                            ///< New values of the knobs that other kernels use too.
  std::vector<const ScannedKernel*> others;  ///< Those kernels, each once even if several units contain it.
  bool empty() const { return knobs.empty(); }
};

/// True if the kernel's text or launch uses the knob.
bool is_used_by(const Knob& knob, const ScannedKernel& kernel);

/// The changed knobs among `values` that other kernels use too. EXPECTS: `scan` outlives the result.
SharedKnobs shared_knobs(const Mep& mep, const ScanIndex& scan, const Bindings& values);

/// "BLOCK_X and BLOCK_Y are also used by heat::source_kernel and 2 more kernels"
std::string text_of(const SharedKnobs& reach);

/// Judges the effect of each change on the other kernels that use its knobs; of a change that one of them rules out,
/// not on all. It takes several changes at once, because each kernel is extracted and measured first.
using JudgeOthers = std::function<std::vector<std::vector<OtherKernel>>(const std::vector<SharedKnobs>&)>;

/// The speedup that a kernel of `share` would need if no other kernel changed, for the application to gain as much as
/// with a speedup of `gain` and the effect on `others`.
double equivalent_gain(double gain, double share, const std::vector<OtherKernel>& others);

/// "heat::source_kernel (14.2 % of the run) 0.62x, …" for the kernels whose speedup is known; empty if there are none.
std::string text_of(const std::vector<OtherKernel>& others);

}  // namespace kernelift::reintegrate
