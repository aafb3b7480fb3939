// See alike_failures.h.
#include "tuner/alike_failures.h"

#include <algorithm>

#include "tuner/tune_report.h"

namespace kernelift::tuner {

void AlikeFailures::add(const Verdict& verdict) {
  if (verdict.ok()) {
    auto timed = [](const Timing& timing) { return timing.samples > 0; };
    differ_ = differ_ || std::ranges::any_of(verdict.timings, timed);
    return;
  }
  if (verdict.stage < Stage::Verify) return;
  const std::string kind = std::string(name(verdict.outcome)) + (verdict.buffer.empty() ? "" : " in " + verdict.buffer);
  differ_ = differ_ || (count_ > 0 && kind != kind_);
  kind_ = kind, ++count_;
}

void AlikeFailures::resume() { most_ = std::max(kMost, count_ + kMany); }

AlikeFailures::Conclusion AlikeFailures::look(Evaluator& evaluator) {
  if (differ_ || count_ < kMany || original_ == Original::Unknown) return {};
  const std::string all =
      "the first " + std::to_string(count_) + " candidates that ran all failed alike (" + kind_ + ")";
  if (original_ == Original::NotAsked) {
    constexpr int kTimes = 2;  // A race may end well once.
    for (int time = 0; time < kTimes; ++time) {
      const auto judged = evaluator.judge_original();
      original_ = judged ? Original::Right : Original::Unknown;
      if (!judged) return {};
      auto* verdict = std::get_if<Verdict>(&*judged);
      // That it takes long is the machine's doing.
      if (verdict && (verdict->ok() || verdict->outcome == Outcome::TimedOut)) continue;
      return {kOriginalFails,
              all + ", and so does the original when it is judged as a candidate is (" +
                  (verdict ? verdict->text() : std::get<NotJudged>(*judged).why) +
                  "): it does not repeat its own results (its threads race, or it keeps something from launch to "
                  "launch), so there is nothing to judge candidates by; choose another kernel"};
    }
    return {"", all + "; the original passes when it is judged likewise, so the fault is theirs"};
  }
  if (count_ < most_) return {};
  return {kAllFailAlike, all + ", while the original passes when it is judged likewise: no more were tried"};
}

}  // namespace kernelift::tuner
