// What became of a candidate. A bad candidate is data, never an error: the searcher learns from every verdict, and
// every failure names its stage and, where one is to blame, the instance.
#pragma once
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "core/base/json.h"

namespace kernelift {

enum class Outcome {
  Ok,
  Refused,
  CompileFailed,
  CompileCrashed,
  OverResources,
  LaunchFailed,
  Crashed,
  TimedOut,
  Wrong,
  WroteOutside,
  Unstable,
  Suspect,
  Cheated,
};
enum class Stage { Admit, Compile, Load, Launch, Verify, Time };

/// Samples of one instance, original and candidate interleaved (A B A B) in one process; seconds.
struct Timing {
  std::string instance;
  double weight = 1;                                      ///< The instance's share of the kernel's time.
  double baseline_seconds = 0, seconds = 0;               ///< Medians.
  double speedup = 1, speedup_low = 1, speedup_high = 1;  ///< Ratio of medians with its 95 % bootstrap interval.
  int samples = 0;
  bool cold = false;  ///< Caches flushed before every sample.
};

struct Verdict {
  Outcome outcome = Outcome::Ok;
  Stage stage = Stage::Admit;
  std::string detail;    ///< One line: the rule, the diagnostic, the pass, the resource with its limit, the signal.
  std::string instance;  ///< Set when one instance is to blame.
  /// For Wrong: which buffer, element, and the two values as text, and their distance in ULP or relative error.
  std::string buffer, expected, got;
  uint64_t index = 0;
  double distance = 0;
  /// Of an Ok candidate, one per tuning instance, or one for several that behave alike, with the weight of them all.
  std::vector<Timing> timings;
  std::map<std::string, double> counters;  ///< Facts from the image or the run: registers, spills, code bytes…
  std::string device;                      ///< "cpu: …" or "cuda: NVIDIA H200 sm_90, driver 580": never mixed.
  double compile_seconds = 0, evaluate_seconds = 0;

  bool ok() const { return outcome == Outcome::Ok; }
  /// Of the kernel as a whole. Weights are shares of its time, so this is sum(w) / sum(w / speedup). 0 unless ok.
  double speedup() const;
  double speedup_low() const;  ///< The same on the intervals' lower ends: what may be promised. 0 unless ok.
  double speedup_high() const;
  double seconds() const;    ///< Weighted mean of the candidate's medians. 0 unless ok.
  std::string text() const;  ///< One line for a person.
};

/// Why a candidate has no verdict: the time was over, or the machine is at fault (a device that is gone, an original
/// that cannot be measured any more). It says nothing about the candidate.
struct NotJudged {
  std::string why;
};
/// What came of evaluating a candidate. Only a Verdict is stored with the candidate and learned from.
using Evaluation = std::variant<Verdict, NotJudged>;

const char* name(Outcome);  ///< "ok", "compile_failed", … as in the run database.
const char* name(Stage);
Result<Outcome> outcome_from_name(const std::string&);
Result<Stage> stage_from_name(const std::string&);
Json to_json(const Verdict&);
Result<Verdict> verdict_from_json(const Json&, const std::string& where);
/// A verdict's JSON, or that of a NotJudged: outcome "not_judged", and the reason as its detail.
Json to_json(const Evaluation&);
Result<Evaluation> evaluation_from_json(const Json&, const std::string& where);
inline constexpr const char* kNotJudged = "not_judged";

/// A gain counts only when the interval's lower bound exceeds this.
inline constexpr double kSmallestGain = 1.01;

}  // namespace kernelift
