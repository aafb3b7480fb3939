// The HTML report of a run: one self-contained page (no script, no network) that a colleague can open or mail.
// Takes plain data, so that it is tested without a run and knows nothing of the database.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace kernelift::cli {

struct ReportCandidate {
  int number = 0;              ///< Order of evaluation, from 1.
  std::string tier, proposer, note;
  std::string outcome;         ///< "ok", "wrong", … as in the run database.
  std::string verdict;         ///< The verdict's one line.
  double speedup = 0;          ///< 0 unless ok.
  double speedup_low = 0;
};

struct ReportInstance {
  std::string id, geometry;
  bool held_out = false;
  double weight = 0, application_us = 0, baseline_us = 0, best_us = 0;
  std::string untimed = {};    ///< Why the best was not timed on it, where it was not.
};

/// What `apply` concluded.
struct ReportApplied {
  std::string outcome, why;           ///< "kept", "rolled back", "not tried"; one sentence.
  int candidate = 0;                  ///< Its number: not always the best, which the application's compiler may not make.
  double predicted = 0, measured = 0;  ///< Of the whole application; 0: not known. `why` has the interval.
  std::vector<std::string> notes;
  std::string diff;
};

struct ReportData {
  std::string kernel, place;   ///< Qualified name; file:line.
  std::string run, device;     ///< Run file; "cpu: …" – CPU timings are labelled as such.
  std::string proof;           ///< What the slice's proof says.
  double seconds = 0;          ///< Of tuning.
  std::vector<ReportCandidate> candidates;
  std::vector<ReportInstance> instances;
  double best_speedup = 0, best_low = 0;  ///< 0 if nothing gained …
  std::string without_gain;               ///< … and then what is to be said: "no gain", "undecided", "nothing tried".
  bool confirmed = false;                 ///< In a fresh process; else these are the search's figures.
  std::string best_note;
  std::string best_recipe;     ///< Compiler recipe, empty if default.
  std::string diff;            ///< Unified, original kernel against the best.
  std::optional<ReportApplied> applied;   ///< Nothing if `apply` was not run.
};

std::string report_page(const ReportData& data);

}  // namespace kernelift::cli
