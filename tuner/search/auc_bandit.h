// Which of several techniques to use next: OpenTuner's area-under-curve bandit. Each arm is credited for the shape of
// its recent improvements (later ones weigh more), plus an exploration bonus for arms seldom used. It decides among
// searchers in a portfolio and among proposers in the tuner.
#pragma once
#include <cstddef>
#include <deque>
#include <vector>

namespace kernelift::tuner {

class AucBandit {
 public:
  explicit AucBandit(size_t arms) : arms_(arms) {}
  /// Arms from most to least promising; the caller takes the first that can act.
  std::vector<size_t> ranking() const;
  /// One use of `arm` and whether it improved the best so far.
  void credit(size_t arm, bool improved);

 private:
  struct Use {
    size_t arm;
    bool improved;
  };
  size_t arms_;
  std::deque<Use> window_;
};

}  // namespace kernelift::tuner
