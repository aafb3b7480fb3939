// A constrained, discrete search space, stored as a chain of trees: parameters that share a constraint share a tree
// whose paths are their valid joint values, and the sizes of independent trees multiply. So a space of 10^12 points is
// counted, indexed and sampled uniformly without being enumerated. A tree with more than kTreeNodes nodes is not built:
// its parameters are drawn by random descent with pruning (not exactly uniform, and count() is then an estimate).
#pragma once
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/model/launch/expression.h"

namespace kernelift::tuner {

using Random = std::mt19937_64;
/// One index into Tunable::values per parameter.
using Point = std::vector<uint16_t>;

struct Tunable {
  std::string name;
  std::vector<int64_t> values;
  size_t start = 0;                   ///< Index of the original value.
  bool ordered = true;                ///< false: a category, whose adjacent indices are unrelated.
  std::vector<std::string> labels{};  ///< Text of each value if values are not integers; else empty.

  std::string label(size_t index) const { return labels.empty() ? std::to_string(values[index]) : labels[index]; }
  /// Many integers, some of them powers of two: what divides an extent or a row of memory evenly is seldom like the
  /// values beside it.
  bool mixes_powers_of_two() const;
  /// Appends what Space::encode() has of this parameter at an index, which may lie between two; below 0: at none.
  void add_coordinates(double position, std::vector<double>& to) const;
};

class Space {
 public:
  Space() = default;
  /// The points that satisfy every constraint; a constraint that cannot be evaluated (division by zero) is violated.
  static Result<Space> create(std::vector<Tunable> parameters, std::vector<Expression> constraints);
  /// Exactly the given points, e.g. those of a recorded trial file.
  static Result<Space> of_points(std::vector<Tunable> parameters, std::vector<Point> points);

  const std::vector<Tunable>& parameters() const { return parameters_; }
  double count() const { return count_; }  ///< Valid points; an estimate if !indexed().
  bool indexed() const { return indexed_; }
  bool valid(const Point& point) const;
  /// EXPECTS: count() > 0.
  Point sample(Random& random) const;
  /// The rank-th valid point in lexicographic order. EXPECTS: indexed(), rank < count().
  Point at(uint64_t rank) const;
  /// Valid points that differ in one parameter: by one step if `near` and the parameter is ordered, else by any.
  std::vector<Point> neighbours(const Point& point, bool near) const;
  /// The original values if valid, else the sampled valid point that differs in the fewest parameters.
  Point start(Random& random) const;
  Bindings bindings(const Point& point) const;
  /// Coordinates for surrogate models: ordered parameters on [0, 1] by position, and by whether the value is a power of
  /// two where many values mix; categories one-hot (scaled so that two different categories are 1 apart).
  std::vector<double> encode(const Point& point) const;

 private:
  struct Edge {
    uint16_t value;
    uint32_t node;
  };
  struct Node {
    uint32_t first = 0, edges = 0;
    uint64_t leaves = 0;
  };
  struct Tree {
    std::vector<size_t> parameters;   ///< In descent order.
    std::vector<size_t> constraints;  ///< Indices; empty for of_points.
    std::vector<Node> nodes;          ///< nodes[0] is the root; empty: not built (drawn by descent).
    std::vector<Edge> edges;
  };
  struct Check {
    Expression expression;
    std::vector<size_t> parameters;
  };

  bool holds(const Check& check, const Point& point) const;
  bool build(Tree& tree) const;
  bool descend(const Tree& tree, size_t depth, Point& point, Random& random, int& effort) const;
  double estimate(const Tree& tree) const;
  /// Sets the tree's parameters of `point` to those of its n-th leaf.
  static void take_leaf(const Tree& tree, uint64_t n, Point& point);
  void finish();

  std::vector<Tunable> parameters_;
  std::vector<Check> checks_;
  std::vector<Tree> trees_;
  double count_ = 0;
  bool indexed_ = true;
};

}  // namespace kernelift::tuner
