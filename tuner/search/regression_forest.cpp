// See regression_forest.h. Settings are those of Geurts et al., "Extremely randomized trees" (2006), for regression:
// all coordinates are looked at, no bootstrap.
#include "tuner/search/regression_forest.h"

#include <algorithm>
#include <cmath>

namespace kernelift::tuner {
namespace {

constexpr size_t kTrees = 30;
// Down to two rows: what was measured is predicted as measured.
constexpr size_t kSmallestSplit = 2;
constexpr double kNoSpread = 1e-12;  ///< Variance of equal targets, rounding included.

}  // namespace

int RegressionForest::grow(std::vector<Node>& tree, std::vector<const Row*> rows, std::mt19937_64& random) {
  const auto at = static_cast<size_t>(tree.size());
  tree.emplace_back();
  double sum = 0, squares = 0;
  for (auto* row : rows) sum += row->target, squares += row->target * row->target;
  const auto count = static_cast<double>(rows.size());
  tree[at].mean = sum / count;
  const bool constant = squares / count - tree[at].mean * tree[at].mean < kNoSpread;
  if (rows.size() < kSmallestSplit || constant) return static_cast<int>(at);
  int coordinate = -1;
  double threshold = 0, least = INFINITY;
  for (size_t c = 0; c < rows[0]->at.size(); ++c) {
    double low = INFINITY, high = -INFINITY;
    for (auto* row : rows) low = std::min(low, row->at[c]), high = std::max(high, row->at[c]);
    if (high <= low) continue;
    const double cut = std::uniform_real_distribution<double>(low, high)(random);
    double below = 0, below_count = 0;
    for (auto* row : rows)
      if (row->at[c] <= cut) below += row->target, ++below_count;
    const double above = sum - below;
    const double error = -below * below / below_count - above * above / (count - below_count);
    if (error < least) least = error, coordinate = static_cast<int>(c), threshold = cut;
  }
  if (coordinate < 0) return static_cast<int>(at);
  const auto c = static_cast<size_t>(coordinate);
  auto middle = std::partition(rows.begin(), rows.end(), [&](auto* row) { return row->at[c] <= threshold; });
  std::vector<const Row*> above(middle, rows.end());
  rows.erase(middle, rows.end());
  const int left = grow(tree, std::move(rows), random), right = grow(tree, std::move(above), random);
  Node& node = tree[at];
  node.coordinate = coordinate, node.threshold = threshold, node.below = left, node.above = right;
  return static_cast<int>(at);
}

void RegressionForest::fit(const std::vector<Row>& rows, std::mt19937_64& random) {
  trees_.assign(kTrees, {});
  std::vector<const Row*> all;
  for (auto& row : rows) all.push_back(&row);
  for (auto& tree : trees_) grow(tree, all, random);
}

double RegressionForest::predict(std::span<const double> point) const {
  double sum = 0;
  for (auto& tree : trees_) {
    const Node* node = tree.data();
    while (node->coordinate >= 0) {
      const bool below = point[static_cast<size_t>(node->coordinate)] <= node->threshold;
      node = &tree[static_cast<size_t>(below ? node->below : node->above)];
    }
    sum += node->mean;
  }
  return sum / static_cast<double>(trees_.size());
}

}  // namespace kernelift::tuner
