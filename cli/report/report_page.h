// Writes the HTML report of a run: one self-contained page (no script, no network) that can be opened anywhere and sent
// by mail. Its input is plain data, so that it can be tested without a run or the database.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace kernelift::cli {

struct ReportCandidate {
  int number = 0;  ///< Number of the candidate in the run, from 1, in the order of evaluation.
  std::string tier, proposer, note;
  std::string outcome;  ///< "ok", "wrong", … as in the run database.
  std::string verdict;  ///< The verdict in one line.
  double speedup = 0;   ///< Over the original; 0 unless the outcome is ok.
  double speedup_low = 0;
  std::vector<int> parents = {};  ///< Numbers of the candidates that it was made from; none: from the original.
  std::string step = {};          ///< What sets it apart from its parents, in words; empty: the note says it.
};

struct ReportInstance {
  std::string id, geometry;
  bool held_out = false;
  double weight = 0, application_us = 0, baseline_us = 0, best_us = 0;
  std::string untimed = {};  ///< Why the best candidate was not timed on this instance; empty if it was.
};

/// A candidate as the headlines name it, with its figures in the MEP.
struct ReportWinner {
  int number = 0;
  std::string note;
  std::string recipe = {};  ///< Compiler recipe; empty: default.
  double speedup = 0, low = 0;
  bool confirmed = false;        ///< Figures of a fresh process; else those of the search.
  std::string other_sizes = {};  ///< What is known of it at sizes that were not recorded; empty: not asked.
  std::string sizes_run = {};    ///< What came of running it there; empty: it was not.
  std::string not_run = {};      ///< Code that no launch in check mode came to; empty: none is known.
  std::string field = {};        ///< What is known of its formulas; empty: not asked.
};

/// A model's hypothesis that was tested.
struct ReportHypothesis {
  int number = 0, candidate = 0;  ///< Of the candidate that carries it out; 0: none does.
  std::string change, predicted, measured;
  std::string conclusion, why;  ///< "confirmed", "refuted" or "confounded"; one sentence.
  std::string cost;             ///< What a gain has cost, or else what it has cost.
};

/// The outcome of `apply`.
struct ReportApplied {
  std::string outcome, why;            ///< "kept", "undone", "rolled back", "not tried", "no patch"; one sentence.
  std::optional<ReportWinner> tried;   ///< The candidate whose patch it was: not always the fastest.
  double predicted = 0, measured = 0;  ///< Speedups of the whole application; 0: not known. `why` has the interval.
  std::vector<std::string> notes;
  std::string diff;
  std::string branch = {}, commit = {};  ///< Branch and commit that contain the patch; empty: none.
  std::string at = {};                   ///< Date of the outcome.
  bool kept() const { return outcome == "kept"; }
};

struct ReportData {
  std::string kernel, place;               ///< Qualified name; file:line.
  std::string run, device;                 ///< Run file; "cpu: …": CPU timings are labelled as such.
  std::string proof;                       ///< Result of the slice's proof.
  std::vector<std::string> fidelity = {};  ///< Fidelity::text of each replay of the MEP.
  double seconds = 0;                      ///< Duration of tuning.
  std::vector<ReportCandidate> candidates;
  std::vector<ReportHypothesis> hypotheses = {};
  std::optional<ReportWinner> fastest;    ///< Fastest in the MEP, by the lower end of its interval; nothing: no gain.
  std::string without_gain;               ///< Headline without a gain: tuner::without_gain().
  std::optional<ReportApplied> applied;   ///< Nothing if `apply` was not run.
  std::string not_taken;                  ///< Why the applied patch is not that of the fastest candidate.
  std::vector<ReportInstance> instances;  ///< Recorded launches with the figures of shown().
  std::string diff;                       ///< Unified diff from the original kernel to that of shown().
  std::string models = {};                ///< What models were asked and cost; empty: none was asked.
  std::vector<std::string> inherited;     ///< What it inherited from earlier runs and what that saved, a line each.
  std::vector<std::string> not_tried;     ///< Block sizes that were not tried and why, a line each.

  /// The candidate whose launches and change the page shows: the one that was patched in, else the fastest.
  const ReportWinner* shown() const {
    return applied && applied->tried ? &*applied->tried : fastest ? &*fastest : nullptr;
  }
};

std::string report_page(const ReportData& data);
/// What is between the page's head and end: for a page about several runs.
std::string report_body(const ReportData& data);

}  // namespace kernelift::cli
