// The outcome of each kernel in `optimize`: read from the report of `apply`, printed as the final table and as JSON.
#pragma once
#include <string>
#include <vector>

#include "core/base/json.h"
#include "reintegrate/apply_report.h"

namespace kernelift::cli {

/// A kernel with a smaller share of the application's time cannot speed it up beyond noise alone, even if it took no
/// time.
inline constexpr double kSmallestShare = 0.02;

struct LoopRow {
  std::string kernel;    ///< The kernel's key.
  std::string id, file;  ///< Id and file if several files have recorded kernels of that key; the share is their sum.
  double share = 0;      ///< Share of the application's run time.
  double launch_seconds = 0;           ///< Duration of the shortest captured launch; 0: not known.
  double roof = 0;                     ///< How near the kernel is to the nearest roof, 0 … 1; 0: not known.
  std::string roof_name;               ///< "DRAM", "fp32 arithmetic".
  std::string order;                   ///< Why it was tuned when it was; empty: it was not.
  int64_t candidate = 0;               ///< Number of the candidate that apply tried last; 0: none.
  int64_t leader = 0;                  ///< Number of the best candidate that a patch can express; 0: none.
  double kernel_gain = 0;              ///< That candidate's speedup in the MEP; 0: none.
  double predicted = 0, measured = 0;  ///< Speedup of the whole application; 0: not known.
  std::string outcome;  ///< kept | rolled back | too small | no gain | undecided | refused | skipped | interrupted
  std::string why, run, branch;
  std::string mep;                  ///< The folder of its MEP; empty: not extracted yet.
  bool looked_at = false;           ///< It was extracted, or refused when it was to be.
  bool replayed = false;            ///< The MEP was found to be right.
  size_t patches = 0;               ///< Number of patches that the application had when the kernel was extracted.
  std::string stopped_by;           ///< What ended its search.
  size_t tried = 0;                 ///< Candidates that were tried.
  double seconds = 0;               ///< That the search took.
  Json model_use = Json::object();  ///< What models have cost in its run.
  bool hidden = false;   ///< It has a gain that does not show in the application alone: it is tried with others.
  size_t together = 0;   ///< Kernels with the same number were measured as one patch; 0: alone.
  std::string way_back;  ///< The command that returns the application to its state before this patch.
  reintegrate::WaysBack ways_back = {};  ///< The same by repository.

  bool kept() const { return outcome == "kept"; }
};

/// Why `seconds` are too short even to begin tuning the kernel, judging by the durations of its launches; empty if they
/// may suffice. This is known before the kernel is extracted, replayed and measured, which takes longer still.
std::string too_long_to_tune(const LoopRow& row, double seconds);

/// Fills the row from apply's JSON document (its report, or an object with `error`) and its exit code. A patch that was
/// kept counts as kept even if an interruption followed.
void read_applied(const Json& document, int exit_code, bool interrupted, LoopRow& row);

/// Takes what became of the rows' changes from the document of an `apply` of several runs, which it names by their
/// file.
void read_together(const Json& document, std::vector<LoopRow>& rows);

/// Changes "no gain" to "undecided" if the search ended for lack of time or of progress; `to_go_on` is the command that
/// continues it.
void mark_undecided(LoopRow& row, const std::string& to_go_on);

/// Product of the measured speedups of all kept patches, one of several kernels counted once; 1 if there are none.
double whole_gain(const std::vector<LoopRow>& rows);
/// The command that leads back to the original; empty if nothing was kept.
std::string way_back(const std::vector<LoopRow>& rows);
/// The table as text, followed by the state of the application and the command that returns to the original.
std::string table_text(const std::vector<LoopRow>& rows, bool on_cpu);
Json to_json(const LoopRow& row);

}  // namespace kernelift::cli
