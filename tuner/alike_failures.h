// Notices that all candidates of a search that were run fail in the same way: then it may be the original that does not
// repeat its results. It is judged as if it were a candidate. If it fails as well, nothing can be judged; if it passes,
// the search goes on for a while.
#pragma once
#include <string>

#include "core/model/evaluator.h"

namespace kernelift::tuner {

class AlikeFailures {
 public:
  static constexpr size_t kMany = 12;         ///< Failures alike after which the original is asked.
  static constexpr size_t kMost = 4 * kMany;  ///< After which the search ends, although the original passes.

  /// Candidates that were not run (they do not compile, are refused, or are the same code as the original) say nothing.
  void add(const Verdict& verdict);
  /// The verdicts so far are of earlier sittings: the search may have as many failures as asking about them takes.
  void resume();

  struct Conclusion {
    std::string stopped_by;  ///< kOriginalFails, kAllFailAlike; empty: the search goes on.
    std::string why;         ///< A sentence, also for the log where the search goes on; empty: nothing is new.
  };
  /// To be called after verdicts. Has the original judged once, if all failed alike.
  Conclusion look(Evaluator& evaluator);

 private:
  enum class Original { NotAsked, Unknown, Right };

  std::string kind_;  ///< Of the failures: "wrong in out", "crashed".
  size_t count_ = 0, most_ = kMost;
  bool differ_ = false;  ///< Not all failed, or not alike.
  Original original_ = Original::NotAsked;
};

}  // namespace kernelift::tuner
