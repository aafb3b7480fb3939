// The sandbox's interface: makes the Evaluator of a MEP, and replays a MEP's original. README.md shows the processes
// that a candidate passes through.
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
#include "core/model/kernel/kernel_model.h"
#include "core/model/kernel_facts.h"
#include "core/model/mep.h"
#include "core/model/verdict/field_equality.h"
#include "sandbox/evaluate/runner/baseline_report.h"
#include "sandbox/evaluate/runner/cross_check.h"
#include "sandbox/evaluate/runner/inquiry.h"

namespace kernelift::sandbox {

struct EvaluatorOptions {
  std::string device = "cpu";    ///< cpu | cuda (all GPUs of one model) | cuda:N | auto (a GPU, else the CPU).
  unsigned compile_workers = 0;  ///< 0: one per core.
  unsigned threads = 0;          ///< Cores that a kernel may use; 0: all.
  bool cold = false;             ///< Flush caches before each timed launch.
  std::chrono::milliseconds compile_limit{30'000};
  std::chrono::milliseconds launch_limit{10'000};
  int most_rounds = 60;                ///< Most pairs of samples of original and candidate.
  std::optional<Tolerance> tolerance;  ///< The user's; overrides the MEP's and the derived one.
  bool few_candidates = false;         ///< Start faster, but compile each candidate a little slower.
  /// Also build promising candidates with the application's own compiler, if it is installed, and time those builds.
  /// GPUs only.
  bool as_built = true;
  /// SizesRun::seed of an earlier confirmation, to be repeated at the same sizes.
  std::optional<uint64_t> size_seed;
  bool allow_weak_jail = false;    ///< Else an Error if this machine lacks a layer of the jail that candidates need.
  bool share_measurements = true;  ///< Measure candidates with equal image and launches once.
  /// End of the run: calibration of the original ends by then.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  /// Its beginning: what is said of its time counts from there.
  std::optional<std::chrono::steady_clock::time_point> begun = {};
  std::function<void(const std::string&)> tell = {};  ///< Shows the user a message, such as that the original is slow.
};

/// Compiles and calibrates the original first: an Error says why it cannot be tuned (exit No if it does not reproduce
/// its capture).
Result<std::unique_ptr<Evaluator>> make_evaluator(const Mep& mep, const std::filesystem::path& folder,
                                                  const EvaluatorOptions& options);

/// What the MEP's kernel does with memory, in blocks of its first recorded launch.
Result<KernelModel> model_of(const Mep& mep, const std::filesystem::path& folder);

/// A candidate for the application with other constants, of which its launches and the kernel's own text are made.
struct SizesQuestion {
  const Mep& mep;
  const std::string& original;
  const Candidate& candidate;
};
/// What is known of each at sizes that were not recorded. All are compiled as the MEP in `folder` is.
Result<std::vector<OtherSizes>> known_sizes(const Mep& mep, const std::filesystem::path& folder,
                                            const std::vector<SizesQuestion>& questions);

/// What field runs on the CPU device can say of the MEP's kernel at all: those of its text against the same text.
/// Equal: they settle whether another text has its formula, as far as FieldEquality::decided and function say; NotRun:
/// `why`.
Result<FieldEquality> formula_of(const Mep& mep, const std::filesystem::path& folder);

struct ReplayOptions {
  std::string device = "cpu";
  bool warm = true, cold = true;  ///< Which cache modes are timed.
  unsigned threads = 0;
  std::optional<Tolerance> tolerance;
  std::chrono::milliseconds launch_limit{60'000};
  bool counters = false;                              ///< Also read hardware counters; GPUs only.
  std::function<void(const std::string&)> tell = {};  ///< As EvaluatorOptions::tell.
};

/// ReplayReport::compiler for code from the capture.
inline constexpr const char* kApplicationsCode = "the application's own machine code";

struct ReplayReport {
  std::string kernel, device;
  std::optional<BaselineReport> warm, cold;
  std::string compiler;                    ///< Compiler of the code in `warm` and `cold`; empty on the CPU device.
  std::optional<BaselineReport> by_clang;  ///< The original built by our compiler, if `compiler` is another.
  /// Message if clang's build does not reproduce the capture but nvcc's does; else empty.
  std::string only_by_nvcc;
  std::optional<KernelFacts> facts;       ///< Of the code that was timed first, on its heaviest instance, if requested.
  std::optional<CrossCheck> cross_check;  ///< Of the durations with another clock; GPUs only.
  std::vector<std::string> notes;         ///< Differences from the application.
  /// Per instance: its duration in the application, and a sentence about memory that was allocated there but is not in
  /// the capture (or "").
  struct Recorded {
    InVivo in_vivo;
    std::string unreached;
  };
  std::map<std::string, Recorded> recorded;
  struct Durations {
    int compared = 0, reproduced = 0;  ///< Instances with a known duration in the application; those reproduced here.
    double weighted_deviation = 0;     ///< Of the kernel's whole time: 0.02 is 2 % slower here.
  };
  std::optional<Durations> durations() const;
  /// The part of this report that is stored in the MEP (keep_fidelity).
  Fidelity fidelity() const;
  /// Whether the instance's duration is compared with the application's in this cache mode, as the MEP says.
  bool compares(const std::string& instance, bool cold) const;
  /// Whether some memory has another address than in the application.
  bool relocated() const;
  bool pass() const;
  /// PASS or FAIL per buffer, durations, and the in-vivo gate, as text for a user.
  std::string text() const;
  Json json() const;
};

/// Stores the calibration of the original as the MEP's fidelity on `device`, unless a replay there is stored already.
/// `code`: the compiler of the calibrated build.
void keep_calibrated(const std::filesystem::path& folder, const Mep& mep, const std::string& device,
                     const std::string& code, const BaselineReport& report, bool cold,
                     const std::vector<std::string>& notes);

/// Sentences about comparisons that are impossible because the MEP was recorded on another machine.
std::vector<std::string> notes_on_another_machine(const Mep& mep, const ReplayReport& report);

/// Whether all instances' launches take longer than kLongSeconds, so that each was run once.
bool all_long(const BaselineReport& report);

/// Relative deviation of an instance's replayed duration from the recorded one: 0.2 is 20 % slower. nullopt: none was
/// recorded.
std::optional<double> in_vivo_deviation(const InstanceReport& instance);
inline constexpr double kInVivoGate = 0.15;

/// An Error: the MEP could not be replayed at all. Mismatches are in the report.
Result<ReplayReport> replay(const std::filesystem::path& folder, const ReplayOptions& options);

/// For a MEP with made-up inputs: runs the original kernel on the CPU device and fills in the answers (`after`); their
/// files go to data/, the caller writes mep.json. Refuses if the original fails on the inputs. A nonempty sentence says
/// why the original cannot be run here; then the answers stay unknown.
Result<std::string> answer_by_original(const std::filesystem::path& folder, Mep& mep);

}  // namespace kernelift::sandbox
