// The result of a tuning run, for people and as JSON.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "tuner/history.h"

namespace kernelift::tuner {

struct TuneReport {
  std::optional<RunTrial> baseline;
  std::optional<RunTrial> best, best_applicable;  ///< With confirmed figures; see gained().
  size_t tried = 0, failed = 0;
  size_t added = 0;                        ///< Candidates tried in this sitting.
  std::map<std::string, size_t> outcomes;  ///< By name(Outcome).
  std::map<std::string, size_t> tiers;     ///< Candidates tried per tier.
  double seconds = 0;
  bool interrupted = false;
  std::string stopped_by;     ///< "time", "evaluations", "nothing left to try", "interrupt", or one of the below.
  std::string unconfirmed;    ///< Why nothing was tried, or why the best candidates are not confirmed; or empty.
  std::string lost;           ///< What confirmations said of finalists that seemed to gain, if none does; or empty.
  std::string nothing_added;  ///< Why a resumed run is unchanged; or empty.
  std::vector<std::string> notes = {};  ///< What proposers have to say at the end: what a model was asked and cost.

  bool gained(const std::optional<RunTrial>& trial) const { return trial && trial->figures().gains(); }
};

/// The report of a history, without what only the sitting itself knows.
TuneReport report_on(const History& history, double seconds);
/// A sentence for a sitting that neither tried nor confirmed a candidate, given the run's budgets; may be empty.
std::string nothing_added(const std::string& stopped_by, double seconds, int64_t evaluations);
Json to_json(const TuneReport& report);

/// TuneReport::stopped_by where no new best came for as long as TuneOptions::patience.
inline constexpr const char* kNoProgress = "no progress";
/// TuneReport::stopped_by where all candidates fail alike: so does the original, or it alone is right.
inline constexpr const char* kOriginalFails = "the original does not repeat its results";
inline constexpr const char* kAllFailAlike = "all candidates fail alike";
/// The result of a run without a gain: "nothing tried", "undecided" (the search was stopped early), "not judged" (the
/// original does not repeat its results), or "no gain".
std::string without_gain(size_t tried, const std::string& stopped_by);
/// Key of the run's state that holds stopped_by of its last sitting; absent in runs of earlier versions.
inline constexpr const char* kStoppedBy = "stopped_by";

}  // namespace kernelift::tuner
