// What the original taught about itself, on either device: whether it reproduces its capture, buffer by buffer, and how
// long it takes. It crosses from runners as JSON, and people see it in replay's report.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/model/mep.h"
#include "sandbox/jail/channel.h"

namespace kernelift {

/// Kernels that take longer are not repeated more than needed.
inline constexpr double kSlowSeconds = 0.05;
/// Kernels that take longer are run once where nothing but the original is asked about, and as seldom as can be
/// elsewhere.
inline constexpr double kLongSeconds = 0.5;
inline constexpr size_t kLongRoundings =
    2;  ///< So many other roundings of them are run for the sake of candidates, and one otherwise.
inline size_t roundings_of_long(bool for_candidates) { return for_candidates ? kLongRoundings : 1; }

/// What the original did on one instance, buffer by buffer.
struct BufferReport {
  std::string name;
  uint64_t bytes = 0;
  bool pass = true, changed = false;
  std::string detail;     ///< First and worst mismatch.
  std::string tolerance;  ///< FloatTolerance::text: what it was compared within.
  bool written = false;  ///< It changed, or was found to be written whatever was there: doing nothing would be noticed.
  bool exact = true;     ///< To the last digit, not only within its tolerance.
};
struct InstanceReport {
  std::string id;
  bool held_out = false, pass = true;
  double weight = 1;
  double recorded_seconds = 0;       ///< In the application; 0 if unknown.
  double seconds = 0, spread = 0;    ///< Median and relative spread of a launch.
  double application_seconds = 0;    ///< The same of the application's own machine code; 0: not known.
  double fastest_write_seconds = 0;  ///< For the bytes that it changes: the physics floor's measure.
  std::string failure;               ///< Set when it did not run at all.
  std::vector<BufferReport> buffers;
};
struct BaselineReport {
  std::vector<InstanceReport> instances;
  std::string application_trouble =
      {};  ///< Why the application's own machine code cannot be measured; empty: it can, or there is none.
  bool application_alone = false;  ///< That reproduces the capture, and the code that was calibrated does not.
  /// What confirming a finalist is expected to take, as measured on the original: each, and the first beside that. 0:
  /// not known.
  double confirmation_seconds = 0, perturbing_seconds = 0;
  /// Why it was not known of any candidate whether it did anything (written_regions.h); empty: it is, or the original
  /// is wrong.
  std::string unverifiable = {};
  bool pass() const;
  /// The original passes, and candidates can be judged by what it leaves.
  bool judges() const { return pass() && unverifiable.empty(); }
  /// The first thing that is wrong, as a sentence; empty if nothing is.
  std::string complaint() const;
};

/// Of a MEP whose capture clang's build does not reproduce, as `complaint` says, but nvcc's does.
std::string only_by_nvcc(const std::string& complaint);
/// Of an original that was judged before, when a new measurement of it no longer judges().
std::string no_longer_reproduced(const BaselineReport& report);
/// What to say of an original as soon as one run of it is known to be long.
std::string takes_long(const std::string& instance, double seconds);
/// A refusal, where `seconds` a run leave no time to judge anything: the original has to be run `runs` times first, a
/// candidate some times more. Nothing: there is time enough, or no deadline.
Status enough_time(const std::string& instance, double seconds, size_t runs, std::optional<Deadline> deadline);
/// What to say of an original that leaves different answers in a buffer.
std::string does_not_repeat(const std::string& buffer, uint64_t differing, uint64_t elements);

Json to_json(const BaselineReport& report);
Result<BaselineReport> baseline_report_from_json(const Json& from, const std::string& where);

}  // namespace kernelift
