// Which model is asked next, and with which kind of prompt: the arm that has gained most for what it cost, in seconds
// and tokens, with a bonus for arms that were seldom used. A function of the calls so far, so that a resumed run
// chooses as the one that was interrupted.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kernelift::tuner {

struct IdeaCall {
  size_t arm = 0;
  double seconds = 0;
  int64_t tokens = 0;
  double gained = 0;  ///< Logarithm of the speedup over the text that it started from; 0: no gain.
};

/// The log gain that is expected of a call of an arm that was not used yet.
inline constexpr double kFreshHope = 0.15;

/// `hopes`: for each arm kFreshHope, or more where more is known of its next call; 0: it cannot be used now. EXPECTS:
/// at least one can.
size_t choose_arm(std::span<const IdeaCall> calls, const std::vector<double>& hopes);

}  // namespace kernelift::tuner
