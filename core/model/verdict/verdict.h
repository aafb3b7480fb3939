// What became of a candidate. A bad candidate is data, never an error: the searcher learns from every verdict, and
// every failure names its stage and, where one is to blame, the instance.
#pragma once
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/json.h"
#include "core/model/launch/expression.h"
#include "core/model/premise.h"
#include "core/model/verdict/field_equality.h"
#include "core/model/verdict/sizes_run.h"
#include "core/model/verdict/unreached.h"

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

/// Tells images apart: the first 52 bits of the hash of an image's bytes. Runs of format 1 keep no more of it, so that
/// the images of old and new runs can be compared.
struct ImageIdentity {
  uint64_t bits = 0;
  static ImageIdentity of(std::string_view image);
  std::string hex() const;  ///< 13 lower-case hex digits.
  static std::optional<ImageIdentity> from_hex(std::string_view);
  auto operator<=>(const ImageIdentity&) const = default;
};

/// A candidate's image. A fact that the device or the compiler does not tell is absent.
struct ImageFacts {
  std::optional<ImageIdentity> identity;        ///< Of the image that the verdict is about.
  std::optional<ImageIdentity> clang_identity;  ///< Of clang's image of the same candidate, which may be another one.
  std::optional<uint64_t> spill_bytes;          ///< Register spills, stores and loads, of all its kernels. GPUs.
  std::optional<uint64_t> code_bytes;           ///< Machine code of all its kernels. CPU device.
  std::optional<uint64_t> fiber_kernels;        ///< Kernels whose threads run on fibers. CPU device.
};

/// What the first launch of a candidate takes of a GPU; absent on the CPU device and where nothing was loaded.
struct KernelResources {
  std::optional<uint64_t> registers;     ///< Per thread.
  std::optional<uint64_t> local_bytes;   ///< Per thread: spilled registers and indexed arrays.
  std::optional<uint64_t> shared_bytes;  ///< Per block, static and dynamic.
  std::optional<uint64_t> threads;       ///< Per block.
  std::optional<double> occupancy;       ///< Resident threads over the most that a multiprocessor holds, 0 … 1.
};

/// Whose build of a candidate was judged.
enum class BuiltBy { Clang, Application };

/// The outcome of a further race of a candidate, beside the one that its timings are of.
struct RaceFigures {
  double speedup = 0, speedup_low = 0;       ///< Of the kernel as a whole.
  double seconds = 0, baseline_seconds = 0;  ///< Medians on the first instance that was timed; 0: not known.
};

/// What NVIDIA's compute-sanitizer says of one launch of a GPU's candidate on a recorded input.
struct Sanitized {
  std::vector<std::string> tools;  ///< Those that report nothing, or nothing that they do not report of the original.
  bool as_original = false;        ///< They report something, all of which they report of the original, too.
  std::string why = {};            ///< Why the others were not run; empty: all were.
  std::string text() const;        ///< "memcheck, racecheck and synccheck report nothing".
};

/// What is known of a candidate at sizes that were not recorded: what it does with memory was compared with what the
/// original does, for all values of the kernel's parameters (core/legality). One that is refuted is Outcome::Wrong.
struct OtherSizes {
  enum class Known {
    Proven,        ///< The same at all sizes.
    UnderPremise,  ///< At all for which `premise` holds; `why` is an example of the others, or says why they are not
                   ///< known.
    Refuted,       ///< Wrong at some, of which `why` is an example, and no premise describes the others.
    Not,           ///< `why` says what could not be decided.
  };
  Known known = Known::Not;
  /// Over the kernel's parameters by their names: "n % 4 == 0". Of what is not known: it can be wrong where that does
  /// not hold.
  std::optional<Expression> premise;
  std::string why;
  std::vector<Premise> assumptions = {};  ///< What a proof takes for granted, with the kernel's names of its arguments.
  bool same_values = false;               ///< Proven of the values that it computes, too, and not of memory alone.
  bool wrong_elsewhere = true;            ///< Where a premise does not hold it can be; false: that is not known.
  /// It is proven for all sizes, or for those of the premise.
  bool proven() const { return known == Known::Proven || known == Known::UnderPremise; }
  std::string text() const;     ///< For a person: "proven for all sizes".
  std::string assumed() const;  ///< "assuming that x and y do not overlap"; empty: nothing is.
};

/// Why a finalist was compared on no inputs with other values, as a clause.
inline constexpr const char* kNoFurtherInputs = "not run: its memory holds no floats that could be varied";

struct Verdict {
  Outcome outcome = Outcome::Ok;
  Stage stage = Stage::Admit;
  std::string detail;     ///< The rule, the compiler's message, the pass, the resource with its limit, the signal.
  std::string instance;   ///< Set when one instance is to blame.
  bool held_out = false;  ///< That one is for verification alone: what differs there is not told to proposers.
  /// For Wrong: which buffer, element, and the two values as text, and their distance in ULP or relative error.
  std::string buffer, expected, got;
  uint64_t index = 0;
  double distance = 0;
  /// Of an Ok candidate, one per tuning instance, or one for several of the same geometry and duration, with their
  /// total weight.
  std::vector<Timing> timings;
  ImageFacts image;
  KernelResources resources;
  /// Largest distance of a float from the reference, in units of the last place, right or wrong; absent: nothing was
  /// compared.
  std::optional<double> largest_ulps;
  /// Relative, of floats, as it was given by hand (--tolerance); 0: what the original's own rounding allows.
  double tolerance = 0;
  /// Of a finalist: inputs with other values on which it computed what the original does; 0: none could be made.
  std::optional<uint64_t> further_inputs;
  int throttled_samples = 0;  ///< Samples that were taken while the GPU's clock was held down.
  /// Absent: only one compiler builds candidates here, or it is a recipe's, which only clang can follow.
  std::optional<BuiltBy> built_by;
  std::optional<RaceFigures> by_clang;    ///< clang's build against clang's build of the original.
  std::optional<RaceFigures> embedded;    ///< clang's build against the code that the application runs.
  std::optional<OtherSizes> other_sizes;  ///< Of a confirmed candidate.
  std::optional<SizesRun> sizes_run;      ///< Of a finalist that was right at the recorded sizes.
  std::optional<Unreached> unreached;     ///< Of one that was run in check mode, and is right.
  std::optional<FieldEquality> field;     ///< As well.
  std::optional<Sanitized> sanitized;     ///< Of what `apply` is about to patch in.
  std::string device;                     ///< "cpu: …" or "cuda: NVIDIA H200 sm_90, driver 580": never mixed.
  double compile_seconds = 0, evaluate_seconds = 0;  ///< Of both with compiling, without what it waited for others.

  bool ok() const { return outcome == Outcome::Ok; }
  /// Of the kernel as a whole. Weights are shares of its time, so this is sum(w) / sum(w / speedup). 0 unless ok.
  double speedup() const;
  double speedup_low() const;  ///< The same on the intervals' lower ends: what may be promised. 0 unless ok.
  double speedup_high() const;
  bool gains() const;      ///< speedup_low() is above kSmallestGain.
  double seconds() const;  ///< Weighted mean of the candidate's medians. 0 unless ok.
  /// As proposers may see it: nothing of what differs on a launch that is held out.
  Verdict as_told() const;
  std::string text() const;  ///< One line for a person.
  /// "within a relative tolerance of 0.1, which was given by hand"; empty: none was.
  std::string tolerance_text() const;
  /// Code of which nothing is known: neither run in check mode nor proven to compute what the original does. nullptr:
  /// there is none, or it was not run in check mode.
  const Unreached* untried_code() const;
  /// What is known beyond the recorded inputs, for a person: "At other sizes: proven for all sizes", …
  std::vector<std::string> beyond_recorded() const;
};

/// Why a candidate has no verdict: the time was over, or the machine is at fault (a device that is gone, an original
/// that cannot be measured any more). It says nothing about the candidate.
struct NotJudged {
  std::string why;
};
/// What came of evaluating a candidate. Only a Verdict is stored with the candidate and learned from.
using Evaluation = std::variant<Verdict, NotJudged>;

/// Bytes of a verdict's text that are kept, but for the words that say how many were left out.
inline constexpr size_t kLongestVerdictText = 8 << 10;
/// The same evaluation with texts that may be stored, shown and sent to a model. Candidates, compilers and recipes
/// choose parts of them. Line breaks stay; control and invisible characters become visible, as in shown_lines(); what
/// is beyond kLongestVerdictText is left out. What leaves an evaluator has passed through here.
Evaluation with_bounded_texts(Evaluation evaluation);

const char* name(Outcome);  ///< "ok", "compile_failed", … as in the run database.
const char* name(Stage);
Result<Outcome> outcome_from_name(const std::string&);
Result<Stage> stage_from_name(const std::string&);
Json to_json(const OtherSizes&);
Json to_json(const Verdict&);
/// Reads the form of runs of format 1 as well.
Result<Verdict> verdict_from_json(const Json&, const std::string& where);
/// A verdict's JSON, or that of a NotJudged: outcome "not_judged", and the reason as its detail.
Json to_json(const Evaluation&);
Result<Evaluation> evaluation_from_json(const Json&, const std::string& where);
inline constexpr const char* kNotJudged = "not_judged";

/// A gain counts only when the interval's lower bound exceeds this.
inline constexpr double kSmallestGain = 1.01;

}  // namespace kernelift
