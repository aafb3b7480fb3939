// Starting configurations that somebody who knows the kernel proposes for its search space, such as a language model:
// text from outside, of which what fits the space is used. Searchers try the first of them at once; all of them are a
// prior like an earlier run's (prior.h), so that they are trusted only as far as measurements bear them out.
#pragma once
#include <string>
#include <vector>

#include "tuner/search/prior.h"

namespace kernelift::tuner {

inline constexpr size_t kMostStartingPoints = 8;  ///< That are taken; further ones are dropped.
inline constexpr size_t kTriedAtOnce = 3;

struct StartingPoints {
  std::vector<Point> points{};          ///< Best first, valid, none twice.
  std::vector<std::string> rejected{};  ///< A sentence for each that is not used.

  /// Of an answer, which may have words around the JSON: {"configurations": [{"TILE": 32, "block_x": 128}, …]}, best
  /// first. A parameter that a configuration leaves out keeps its original value; a value is a number or its label.
  /// What cannot be used is among the rejected; an Error: there is nothing that can be read.
  static Result<StartingPoints> read(const Space& space, const std::string& answer);
  /// As a run that tried them and points of chance, each with the cost that is expected of its distance from them.
  /// EXPECTS: there are points.
  EarlierRun as_run(const Space& space, const std::string& name) const;
};

}  // namespace kernelift::tuner
