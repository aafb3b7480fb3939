// The hypotheses of a run: kept in its database as they change, chosen by what is expected of them, and compared with
// the measurements when these are there.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tuner/source/hypotheses/finding.h"
#include "tuner/source/kept_state.h"

namespace kernelift::tuner {

class HypothesisBoard {
 public:
  /// What cannot be read of the state is left out.
  explicit HypothesisBoard(KeptState state);

  /// Its number. One that says the same as an earlier one about the same text is not taken: 0.
  int64_t add(Hypothesis hypothesis);
  Hypothesis* find(int64_t number);
  /// Those that a model was carrying out when the last sitting ended are open again.
  void reopen_unjudged(const History& history);
  void keep(const Hypothesis& hypothesis) const;
  const std::map<int64_t, Hypothesis>& all() const { return hypotheses_; }

  /// The open one of which most is expected; nullptr: none is open whose expected log gain is at least kWorthwhile.
  const Hypothesis* best_open(const History& history) const;
  /// See expected_gain().
  double expected(const Hypothesis& hypothesis, const History& history) const;
  size_t open() const;
  /// The sum of what is expected of the open ones, as a factor of speedup.
  double expected_of_open(const History& history) const;
  /// Of all that were tested, in the order of their numbers. EXPECTS: the history is the one of earlier calls, with
  /// more trials. Valid until the next call of this or keep().
  const std::vector<Finding>& findings(const History& history) const;

  /// What findings() knew last.
  const std::vector<Finding>& known_findings() const { return findings_; }

  static constexpr double kWorthwhile = 0.01;

 private:
  KeptState state_;
  std::map<int64_t, Hypothesis> hypotheses_;
  mutable std::vector<Finding> findings_;  ///< Of those whose verdict is known: it stays.
  mutable std::set<int64_t> unjudged_;     ///< All others, by number.
};

/// The findings of a run's state and trials, for reports.
std::vector<Finding> findings_of(const std::map<std::string, std::string>& state, const std::vector<RunTrial>& trials);

}  // namespace kernelift::tuner
