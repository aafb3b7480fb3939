// What else of the application changes with a candidate's knobs, and what that is worth. A block size is often one
// macro for several kernels and their launches, and a candidate is judged by the MEP of its own kernel alone: 1.17x
// there can be 0.77x for the application, which only building and timing it would tell, minutes later.
//   Know    the scan names every kernel, of whatever unit, whose text or launch uses a knob: tune and apply say who
//           they are.
//   Weigh   those with a share worth counting are extracted, and their originals judged with the new values: seconds.
//   Choose  candidates compete by what their kernel alone would have to gain to be worth as much to the application.
//           What comes out as a loss, or makes another kernel wrong, is passed over before anything is built.
// Left to the application's own check and timing: kernels of small share, and what a changed line of a shared header
// does. The kernel is not given a constant of its own: host code that sizes buffers or counts blocks by the shared one
// belongs to one of its users, and text does not say to which. What it would have won is said; its author can do it.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/model/mep.h"
#include "core/model/scan/scan_index.h"

namespace kernelift {

/// Another kernel that uses one of the knobs that a candidate turns.
struct OtherKernel {
  std::string name;
  double share = 0;    ///< Of the application's run time.
  double speedup = 0;  ///< Of its original with the new values; 0: not known, and `why` says why.
  bool wrong = false;  ///< With the new values it cannot run, or gives other results: `why` says what.
  std::string why = {};
};

struct KnobReach {
  Bindings knobs;                            ///< The new values of those that other kernels use too.
  std::vector<const ScannedKernel*> others;  ///< Each once, though several units may have it.
  bool empty() const { return knobs.empty(); }
};

/// The kernel's text or launch uses the knob.
bool feeds(const Knob& knob, const ScannedKernel& kernel);

/// EXPECTS: `scan` outlives the answer.
KnobReach knob_reach(const Mep& mep, const ScanIndex& scan, const Bindings& values);

/// "BLOCK_X and BLOCK_Y are also used by heat::source_kernel and 2 more kernels"
std::string text_of(const KnobReach& reach);

/// For several changes at once, since what they reach is extracted and measured first: of each the kernels that count.
using Weigh = std::function<std::vector<std::vector<OtherKernel>>(const std::vector<KnobReach>&)>;

/// What a kernel of `share` would have to gain alone, to be worth as much to the application as a `gain` of it beside
/// what becomes of the others.
double worth_alone(double gain, double share, const std::vector<OtherKernel>& others);

/// "heat::source_kernel (14.2 % of the run) 0.62x, …": what is known of them; empty when nothing is.
std::string text_of(const std::vector<OtherKernel>& others);

}  // namespace kernelift
