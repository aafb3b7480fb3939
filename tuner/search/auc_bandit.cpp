// See auc_bandit.h. Window and exploration weight: OpenTuner uses 500 and 0.05 for runs of thousands; tuning budgets
// here are hundreds, so the window is shorter and exploration heavier.
#include "tuner/search/auc_bandit.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kernelift::tuner {
namespace {

constexpr size_t kWindow = 100;
constexpr double kExploration = 0.15;

}  // namespace

std::vector<size_t> AucBandit::ranking() const {
  std::vector<double> area(arms_), weight(arms_);
  std::vector<size_t> uses(arms_);
  for (auto& use : window_) {
    double position = static_cast<double>(++uses[use.arm]);
    weight[use.arm] += position;
    if (use.improved) area[use.arm] += position;
  }
  std::vector<double> score(arms_);
  for (size_t arm = 0; arm < arms_; ++arm) {
    double exploit = weight[arm] > 0 ? area[arm] / weight[arm] : 1;
    double explore = std::sqrt(2 * std::log2(std::max<double>(2, window_.size())) / std::max<double>(0.5, uses[arm]));
    score[arm] = exploit + kExploration * explore;
  }
  std::vector<size_t> order(arms_);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return score[a] != score[b] ? score[a] > score[b] : a < b; });
  return order;
}

void AucBandit::credit(size_t arm, bool improved) {
  window_.push_back({arm, improved});
  if (window_.size() > kWindow) window_.pop_front();
}

}  // namespace kernelift::tuner
