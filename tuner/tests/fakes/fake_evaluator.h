// An Evaluator in memory with a log of its calls. A function of the test decides a candidate's speed from its values,
// recipe and source text; a delay can make it as slow as a real evaluator.
#pragma once
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>

#include "core/model/evaluator.h"

namespace kernelift::tuner {

inline Verdict fake_ok(double speedup) {
  Verdict verdict;
  verdict.stage = Stage::Time;
  verdict.device = "fake";
  verdict.timings = {{"i0", 1, 1e-3, 1e-3 / speedup, speedup, speedup * 0.995, speedup * 1.005, 20, false}};
  return verdict;
}

/// A verdict as on a busy machine.
inline Verdict fake_noisy(double speedup, double low, double high) {
  Verdict verdict = fake_ok(speedup);
  verdict.timings[0].speedup_low = low, verdict.timings[0].speedup_high = high;
  return verdict;
}

inline Verdict fake_failure(Outcome outcome, const std::string& detail = "by design") {
  Verdict verdict;
  verdict.outcome = outcome, verdict.stage = Stage::Verify, verdict.detail = detail, verdict.device = "fake";
  return verdict;
}

class FakeEvaluator : public Evaluator {
 public:
  using Landscape = std::function<Evaluation(const Candidate&)>;
  explicit FakeEvaluator(Landscape landscape, int parallelism = 1, std::chrono::milliseconds delay = {})
      : landscape_(std::move(landscape)), parallelism_(parallelism), delay_(delay) {}

  std::future<Evaluation> submit(Candidate candidate) override {
    {
      std::lock_guard hold(mutex_);
      submitted.push_back(candidate);
    }
    return std::async(std::launch::async, [this, candidate] {
      std::this_thread::sleep_for(delay_);
      return landscape_(candidate);
    });
  }
  int parallelism() const override { return parallelism_; }
  void abandon() override { abandoned_ = true; }
  void forget_rivals() override { ++forgotten; }
  Evaluation confirm(const Candidate& candidate) override {
    abandoned_before_confirming += abandoned_;
    confirmed.push_back(candidate);
    return confirms ? confirms(candidate) : landscape_(candidate);
  }

  std::optional<Evaluation> judge_original() override {
    ++original_asked;
    return original ? std::optional(original()) : std::nullopt;
  }

  Evaluation with_other_sizes(Evaluation evaluation, const Candidate& candidate) override {
    if (auto* verdict = std::get_if<Verdict>(&evaluation); verdict && elsewhere) elsewhere(candidate, *verdict);
    return evaluation;
  }

  /// What other sizes make of a verdict; empty: nothing.
  std::function<void(const Candidate&, Verdict&)> elsewhere;
  std::function<Evaluation()> original;  ///< Its evaluation as a candidate; empty: that cannot be asked.
  size_t original_asked = 0, forgotten = 0;
  Landscape confirms;                           ///< Results of confirmations; empty: those of the search.
  std::vector<Candidate> submitted, confirmed;  ///< In order.
  size_t abandoned_before_confirming = 0;

 private:
  Landscape landscape_;
  bool abandoned_ = false;
  int parallelism_;
  std::chrono::milliseconds delay_;
  std::mutex mutex_;
};

}  // namespace kernelift::tuner
