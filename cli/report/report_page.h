// The HTML report of a run: one self-contained page (no script, no network) that a colleague can open or mail.
// Takes plain data, so that it is tested without a run and knows nothing of the database.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace kernelift::cli {

struct ReportCandidate {
  int number = 0;  ///< Order of evaluation, from 1.
  std::string tier, proposer, note;
  std::string outcome;  ///< "ok", "wrong", … as in the run database.
  std::string verdict;  ///< The verdict's one line.
  double speedup = 0;   ///< 0 unless ok.
  double speedup_low = 0;
};

struct ReportInstance {
  std::string id, geometry;
  bool held_out = false;
  double weight = 0, application_us = 0, baseline_us = 0, best_us = 0;
  std::string untimed = {};  ///< Why the best was not timed on it, where it was not.
};

/// A candidate as headlines name it, with its figures in the MEP.
struct ReportWinner {
  int number = 0;
  std::string note;
  std::string recipe = {};  ///< Of the compiler; empty: default.
  double speedup = 0, low = 0;
  bool confirmed = false;  ///< In a fresh process; else these are the search's figures.
};

/// What `apply` concluded.
struct ReportApplied {
  std::string outcome, why;            ///< "kept", "undone", "rolled back", "not tried", "no patch"; one sentence.
  std::optional<ReportWinner> tried;   ///< Whose patch it was: not always the fastest's.
  double predicted = 0, measured = 0;  ///< Of the whole application; 0: not known. `why` has the interval.
  std::vector<std::string> notes;
  std::string diff;
  std::string branch = {}, commit = {};  ///< That hold the patch; empty: none does.
  std::string at = {};                   ///< When this was so.
  bool kept() const { return outcome == "kept"; }
};

struct ReportData {
  std::string kernel, place;               ///< Qualified name; file:line.
  std::string run, device;                 ///< Run file; "cpu: …" – CPU timings are labelled as such.
  std::string proof;                       ///< What the slice's proof says.
  std::vector<std::string> fidelity = {};  ///< Of the MEP, a replay a line: Fidelity::text.
  double seconds = 0;                      ///< Of tuning.
  std::vector<ReportCandidate> candidates;
  std::optional<ReportWinner> fastest;    ///< In the MEP, by what may be promised; nothing if nothing gained …
  std::string without_gain;               ///< … and then what is to be said: "no gain", "undecided", "nothing tried".
  std::optional<ReportApplied> applied;   ///< Nothing if `apply` was not run.
  std::string not_taken;                  ///< Why the patch is not the fastest's.
  std::vector<ReportInstance> instances;  ///< With the figures of who is shown().
  std::string diff;                       ///< Unified, original kernel against that one's.
  std::vector<std::string> not_tried;     ///< Of the block's size, a line each.

  /// Of whom the page shows the launches and the change: who was patched in, else the fastest.
  const ReportWinner* shown() const {
    return applied && applied->tried ? &*applied->tried : fastest ? &*fastest : nullptr;
  }
};

std::string report_page(const ReportData& data);

}  // namespace kernelift::cli
