// What became of models' answers in a run, as far as later prompts and the patience with a model depend on it. Kept in
// the run's database, so that a resumed run asks as the sitting before would have.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tuner/source/kept_state.h"

namespace kernelift::tuner {

struct AnswerRecord {
  struct Streak {
    int repeats = 0;   ///< Answers in a row that repeat earlier candidates.
    int unusable = 0;  ///< Answers in a row of which nothing can be made.
    int useless = 0;  ///< The same, those that failed, repeat earlier ones, or became no new, right candidate included.
    size_t since = 0;  ///< Trials that the run had at the last of them.
  };
  std::vector<std::string> unusable;      ///< The last of them, each with the reason.
  int barren = 0;                         ///< Answers with hypotheses in a row of which none was worth its cost.
  std::map<std::string, Streak> streaks;  ///< By the model's key in the log.

  /// What cannot be read is as if nothing had been answered.
  static AnswerRecord read(const KeptState& state);
  void keep(const KeptState& state) const;
  void add_unusable(std::string what);
  /// `weight`: answers that it counts for; `trials`: those that the run has.
  void add_useless(const std::string& model, int weight, size_t trials);
  /// So many of the model's last answers were useless that it is asked one thing at a time, and nothing is sent back.
  bool is_doubtful(const std::string& model) const;
  /// It is doubtful and not asked yet: the pause after each useless answer is twice the last, and is counted
  /// in trials of the run, so that it depends neither on the machine nor on interruptions, and costs a slow search no
  /// more than a fast one.
  bool rests(const std::string& model, size_t trials) const;
};

}  // namespace kernelift::tuner
