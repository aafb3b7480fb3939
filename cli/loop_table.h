// What became of each kernel in `optimize`: read from what `apply` said of it, shown as the final table and as JSON.
#pragma once
#include <string>
#include <vector>

#include "core/base/json.h"

namespace kernelift::cli {

/// A kernel with less than this share of the application cannot move it beyond noise even if it vanished.
inline constexpr double kSmallestShare = 0.02;

struct LoopRow {
  std::string kernel;    ///< Its key.
  std::string id, file;  ///< Where several files have recorded kernels of that key: which it is. Their share is one.
  double share = 0;      ///< Of the application's run time.
  double launch_seconds = 0;           ///< Of the shortest launch that was captured; 0: not known.
  int64_t candidate = 0;               ///< Of its run: the one that apply tried last; 0: none.
  double kernel_gain = 0;              ///< That one's, in the MEP; 0: none.
  double predicted = 0, measured = 0;  ///< Of the whole application; 0: not known.
  std::string outcome;  ///< kept | rolled back | too small | no gain | undecided | refused | skipped | interrupted
  std::string why, run, branch;
  std::string way_back;  ///< The command that has the application as it was before this patch.

  bool kept() const { return outcome == "kept"; }
};

/// Why tuning the kernel for so many seconds could not even begin, as far as its launches' durations say: known before
/// it is extracted, replayed and measured, which takes longer still. Empty: it may.
std::string too_long_to_tune(const LoopRow& row, double seconds);

/// What apply ended with: its document, or one that holds `error`, and its exit code. A patch that stands was kept,
/// whatever came after it.
void read_applied(const Json& document, int exit_code, bool interrupted, LoopRow& row);

/// Where nothing was found because the time was over: then more of it may find something, by the command `to_go_on`.
void mark_undecided(LoopRow& row, size_t tried, double seconds, const std::string& to_go_on);

/// All kept patches together, as each was measured; 1 if there are none.
double whole_gain(const std::vector<LoopRow>& rows);
/// Lines for people, and at the end where the application stands and how it gets back.
std::string table_text(const std::vector<LoopRow>& rows, bool on_cpu);
Json to_json(const LoopRow& row);

}  // namespace kernelift::cli
