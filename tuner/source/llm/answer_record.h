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
  };
  std::vector<std::string> unusable;      ///< The last of them, each with the reason.
  int barren = 0;                         ///< Answers with hypotheses in a row of which none was worth its cost.
  std::map<std::string, Streak> streaks;  ///< By the model's key in the log.

  /// What cannot be read is as if nothing had been answered.
  static AnswerRecord read(const KeptState& state);
  void keep(const KeptState& state) const;
  void add_unusable(std::string what);
};

}  // namespace kernelift::tuner
