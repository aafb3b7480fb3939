// What became of a hypothesis: its prediction beside the measurement.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tuner/history.h"
#include "tuner/source/hypotheses/hypothesis.h"

namespace kernelift::tuner {

struct Finding {
  enum class Conclusion {
    Confirmed,   ///< At least half of the gain came, and the figure moved as predicted, if it is measured here.
    Refuted,     ///< It was carried out, and the gain did not come.
    Confounded,  ///< Nothing can be said of it: it was not carried out, came out wrong, is within the noise, or the
                 ///< gain came without what was to cause it.
  };
  Hypothesis hypothesis;
  Conclusion conclusion = Conclusion::Confounded;
  int64_t trial = 0;     ///< Of the candidate that carries it out; 0: none does.
  double speedup = 0;    ///< Over the text that it is about; 0: not measured.
  std::string measured;  ///< "registers 40 -> 36; 1.21x (1.19x to 1.23x)"
  std::string why;       ///< In words, one sentence without its full stop.
  std::string device;    ///< On which it was measured.

  std::string text() const;       ///< "hypothesis 3 confirmed: …: predicted …, measured …: …"
  std::string cost_text() const;  ///< "2 requests, 3400 tokens, 12 s"
  /// What a tenth of speedup has cost: "1700 tokens and 6 s for each 10 %"; empty: nothing was gained.
  std::string cost_per_gain() const;
};

const char* name(Finding::Conclusion conclusion);
Json to_json(const Finding& finding);

/// A figure of a trial that a hypothesis may name: "registers", "shared_bytes", "local_bytes", "threads", "occupancy",
/// "spill_bytes", "code_bytes", "vector" (elements of the widest vector type). nullopt: it is not measured here.
std::optional<double> figure_of(const RunTrial& trial, const std::string& figure);
/// The names of the figures that the trial has, for prompts.
std::vector<std::string> figures_of(const RunTrial& trial);

/// nullopt: the hypothesis is open, or its candidate is not judged yet.
std::optional<Finding> finding_of(const Hypothesis& hypothesis, const History& history);

/// The log gain that is still to be expected of the hypothesis, among all that there are: of its family's cards how
/// many held, its risk, and how much of it was tried by others.
double expected_gain(const Hypothesis& hypothesis, const std::map<int64_t, Hypothesis>& all,
                     const std::vector<Finding>& findings);

/// Whether two changes in words are mostly the same.
bool near_duplicates(const std::string& one, const std::string& other);

}  // namespace kernelift::tuner
