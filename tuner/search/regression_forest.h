// Regression with extremely randomised trees: each tree splits at random places of random coordinates, keeping the best
// of a few. Trees follow the jumps and interactions of tuning spaces (a flag that changes the whole kernel), which a
// Gaussian process smooths over; and thousands of trials cost it milliseconds.
#pragma once
#include <random>
#include <span>
#include <vector>

namespace kernelift::tuner {

class RegressionForest {
 public:
  struct Row {
    std::vector<double> at;  ///< A point on [0, 1]^d.
    double target;
  };
  /// EXPECTS: at least one row, all of one dimension.
  void fit(const std::vector<Row>& rows, std::mt19937_64& random);
  /// EXPECTS: fit() was called.
  double predict(std::span<const double> point) const;

 private:
  struct Node {
    int coordinate = -1;  ///< -1: a leaf.
    double threshold = 0, mean = 0;
    int below = 0, above = 0;
  };
  static int grow(std::vector<Node>& tree, std::vector<const Row*> rows, std::mt19937_64& random);

  std::vector<std::vector<Node>> trees_;
};

}  // namespace kernelift::tuner
