// The sandbox's front door: an Evaluator for a MEP, and the replay of a MEP's original. See README.md for how a
// candidate travels through the processes behind it.
#pragma once
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/model/evaluator.h"
#include "core/model/fidelity.h"
#include "core/model/kernel_facts.h"
#include "core/model/mep.h"
#include "sandbox/evaluate/runner/baseline_report.h"
#include "sandbox/evaluate/runner/cross_check.h"
#include "sandbox/evaluate/runner/inquiry.h"

namespace kernelift {

struct EvaluatorOptions {
  std::string device = "cpu";    ///< cpu | cuda (all GPUs alike) | cuda:N | auto (the best there is).
  unsigned compile_workers = 0;  ///< 0: one per core.
  unsigned threads = 0;          ///< Cores that a kernel may use; 0: all.
  bool cold = false;             ///< Caches flushed before each timed launch.
  std::chrono::milliseconds compile_limit{30'000};
  std::chrono::milliseconds launch_limit{10'000};
  int most_rounds = 60;                ///< Pairs of samples, original and candidate.
  std::optional<Tolerance> tolerance;  ///< The user's; wins over the MEP's and the derived one.
  bool few_candidates = false;         ///< Only a few will come: start at once, compile each a little slower.
  /// Whoever may be the best is built and timed as the application's own compiler builds it too, where that is here.
  /// GPUs only.
  bool as_built = true;
  bool share_measurements = true;  ///< Candidates of equal image and launches are measured once.
  /// When the run that this is for must be over: the original is not calibrated any longer than that.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::function<void(const std::string&)> tell = {};  ///< Is told early of an original that takes long.
};

/// Compiles and calibrates the original first: an Error says why it cannot be tuned (exit No if it does not reproduce
/// its capture).
Result<std::unique_ptr<Evaluator>> make_evaluator(const Mep& mep, const std::filesystem::path& folder,
                                                  const EvaluatorOptions& options);

struct ReplayOptions {
  std::string device = "cpu";
  bool warm = true, cold = true;  ///< Which cache modes are timed.
  unsigned threads = 0;
  std::optional<Tolerance> tolerance;
  std::chrono::milliseconds launch_limit{60'000};
  bool counters = false;                              ///< Also find out what the time goes into; GPUs only.
  std::function<void(const std::string&)> tell = {};  ///< As EvaluatorOptions::tell.
};

inline constexpr const char* kApplicationsCode =
    "the application's own machine code";  ///< ReplayReport::compiler, where it is that.

struct ReplayReport {
  std::string kernel, device;
  std::optional<BaselineReport> warm, cold;
  std::string compiler;                    ///< Whose code `warm` and `cold` are of; empty where there is but one.
  std::optional<BaselineReport> by_clang;  ///< The original as our compiler builds it, if the above is another's.
  std::string only_by_nvcc;  ///< Where that does not reproduce the capture, but nvcc's build does: what follows.
  std::optional<KernelFacts> facts;       ///< Of the code that was timed first, on its heaviest instance, if asked for.
  std::optional<CrossCheck> cross_check;  ///< Of the durations, by another clock; GPUs only.
  std::vector<std::string> notes;         ///< What is not as it was in the application.
  /// By instance: its duration in the application, and what was alive there and is not in the capture (a sentence, or
  /// "").
  struct Recorded {
    InVivo in_vivo;
    std::string unreached;
  };
  std::map<std::string, Recorded> recorded;
  struct Durations {
    int compared = 0, reproduced = 0;  ///< Instances whose duration in the application is known.
    double weighted_deviation = 0;     ///< Of the whole kernel's time: 0.02 is 2 % slower here.
  };
  std::optional<Durations> durations() const;
  /// What the MEP is to carry of this replay (keep_fidelity).
  Fidelity fidelity() const;
  /// Whether it is in this cache mode that the MEP has the instance's duration compared.
  bool compares(const std::string& instance, bool cold) const;
  /// Whether some memory lies elsewhere than in the application.
  bool relocated() const;
  bool pass() const;
  /// PASS or FAIL per buffer, durations, and the in-vivo gate, as a person reads it.
  std::string text() const;
  Json json() const;
};

/// Where no replay on `device` is known yet, what calibrating the original there showed is what the MEP carries.
/// `code`: whose build that is of.
void keep_calibrated(const std::filesystem::path& folder, const Mep& mep, const std::string& device,
                     const std::string& code, const BaselineReport& report, bool cold,
                     const std::vector<std::string>& notes);

/// What a replay on a GPU other than the recorded one cannot say, as sentences.
std::vector<std::string> notes_on_another_machine(const Mep& mep, const ReplayReport& report);

/// Whether launches of all instances take so long that each was run but once.
bool all_long(const BaselineReport& report);

/// How far an instance's replayed duration is from the recorded one: 0.2 is 20 % slower. nullopt: none was recorded.
std::optional<double> in_vivo_deviation(const InstanceReport& instance);
inline constexpr double kInVivoGate = 0.15;

/// An Error means that it could not be replayed at all; a mismatch is in the report.
Result<ReplayReport> replay(const std::filesystem::path& folder, const ReplayOptions& options);

/// Fills the answers (`after`) of a MEP whose inputs were made up with what its original kernel computes from them on
/// the CPU device; their files go to data/, mep.json is the caller's to write. Refuses when the original strays on
/// them. A sentence that is not empty says why it cannot be run here, and the answers stay unknown.
Result<std::string> answer_by_original(const std::filesystem::path& folder, Mep& mep);

}  // namespace kernelift
