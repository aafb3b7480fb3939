// See idea_bandit.h. A call's cost is the mean of its seconds and of its tokens, each relative to those of a call on
// average; so models that bill tokens and such that only take long are compared on one scale.
#include "tuner/source/evolution/idea_bandit.h"

#include <cmath>

#include "core/base/result.h"

namespace kernelift::tuner {
namespace {

constexpr double kExploration = 0.08;  ///< In log gains.

}  // namespace

size_t choose_arm(std::span<const IdeaCall> calls, const std::vector<double>& hopes) {
  double seconds = 0, tokens = 0;
  for (auto& call : calls) seconds += call.seconds, tokens += static_cast<double>(call.tokens);
  const auto count = static_cast<double>(calls.size());
  struct Arm {
    double gained = 0, cost = 0, uses = 0;
  };
  std::vector<Arm> arms(hopes.size());
  for (auto& call : calls) {
    if (call.arm >= arms.size()) continue;  // Of a model that is not asked any more.
    Arm& arm = arms[call.arm];
    const double time = seconds > 0 ? call.seconds * count / seconds : 1;
    const double text = tokens > 0 ? static_cast<double>(call.tokens) * count / tokens : 1;
    arm.gained += call.gained, arm.cost += (time + text) / 2, ++arm.uses;
  }
  size_t best = hopes.size();
  double most = 0;
  for (size_t at = 0; at < arms.size(); ++at) {
    if (hopes[at] <= 0) continue;
    const double value = (hopes[at] + arms[at].gained) / (1 + arms[at].cost) +
                         kExploration * std::sqrt(2 * std::log(1 + count) / (1 + arms[at].uses));
    if (best == hopes.size() || value > most) best = at, most = value;
  }
  KERNELIFT_ASSERT(best < hopes.size(), "an arm can be used");
  return best;
}

}  // namespace kernelift::tuner
