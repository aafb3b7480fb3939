// Building, counting and sampling chains of trees; see space.h. A worked example: bx in {16, 32, 64}, by in {8, 16,
// 32}, unroll in {1, 2, 4}, bx * by <= 1024. Two trees: (bx, by) with 8 paths and (unroll) with 3; 24 points. Rank 23
// is path 7 of the first tree and path 2 of the second. Each node knows its leaves, so descent by rank costs one pass
// per level.
#include "tuner/space/space.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>

namespace kernelift::tuner {
namespace {

bool is_power_of_two(int64_t value) { return value > 0 && std::has_single_bit(static_cast<uint64_t>(value)); }

constexpr size_t kTreeNodes = 1 << 18;  ///< About 6 MB; a larger tree costs more than its exact count is worth.
constexpr int kDescentEffort = 20000;   ///< Constraint checks before a random descent gives up.
constexpr int kEstimateProbes = 400;    ///< Random descents for the size of a tree that is not built.

}  // namespace

bool Space::holds(const Check& check, const Point& point) const {
  Bindings bound;
  for (size_t p : check.parameters) bound[parameters_[p].name] = parameters_[p].values[point[p]];
  auto value = check.expression.evaluate(bound);
  return value.ok() && *value != 0;
}

Result<Space> Space::create(std::vector<Tunable> parameters, std::vector<Expression> constraints) {
  Space space;
  space.parameters_ = std::move(parameters);
  auto& all = space.parameters_;
  for (auto& parameter : all) {
    if (parameter.values.empty()) return usage_error("parameter '" + parameter.name + "' has no values");
    if (parameter.values.size() > UINT16_MAX)
      return usage_error("parameter '" + parameter.name + "' has too many values");
  }
  std::vector<size_t> group(all.size());
  std::iota(group.begin(), group.end(), 0);
  std::function<size_t(size_t)> root = [&](size_t p) { return group[p] == p ? p : group[p] = root(group[p]); };
  for (auto& constraint : constraints) {
    Check check{constraint, {}};
    for (auto& name : constraint.variables()) {
      auto found = std::find_if(all.begin(), all.end(), [&](auto& parameter) { return parameter.name == name; });
      if (found == all.end())
        return usage_error("constraint '" + constraint.text() + "' speaks of '" + name + "', which is no parameter");
      check.parameters.push_back(found - all.begin());
    }
    for (size_t p : check.parameters) group[root(p)] = root(check.parameters[0]);
    space.checks_.push_back(std::move(check));
  }
  for (size_t p = 0; p < all.size(); ++p) {
    if (root(p) != p) continue;
    Tree tree;
    for (size_t q = 0; q < all.size(); ++q)
      if (root(q) == p) tree.parameters.push_back(q);
    for (size_t c = 0; c < space.checks_.size(); ++c)
      if (!space.checks_[c].parameters.empty() && root(space.checks_[c].parameters[0]) == p)
        tree.constraints.push_back(c);
    if (!space.build(tree)) tree.nodes.clear(), tree.edges.clear();
    space.trees_.push_back(std::move(tree));
  }
  space.finish();
  // A constraint without variables holds everywhere or nowhere.
  for (auto& check : space.checks_)
    if (check.parameters.empty() && !space.holds(check, {})) space.count_ = 0;
  return space;
}

Result<Space> Space::of_points(std::vector<Tunable> parameters, std::vector<Point> points) {
  Space space;
  space.parameters_ = std::move(parameters);
  for (auto& parameter : space.parameters_)
    if (parameter.values.size() > UINT16_MAX)
      return usage_error("parameter '" + parameter.name + "' has too many values");
  for (auto& point : points) {
    if (point.size() != space.parameters_.size())
      return usage_error("a point has another number of values than parameters");
    for (size_t p = 0; p < point.size(); ++p)
      if (point[p] >= space.parameters_[p].values.size())
        return usage_error("a point lies outside its parameters' values");
  }
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  Tree tree;
  tree.parameters.resize(space.parameters_.size());
  std::iota(tree.parameters.begin(), tree.parameters.end(), 0);
  tree.nodes.push_back({0, 0, points.size()});
  // Level by level: each node is a range of the sorted points that share a prefix.
  std::vector<std::pair<size_t, size_t>> ranges{{0, points.size()}};
  for (size_t depth = 0, node = 0; depth < tree.parameters.size(); ++depth) {
    std::vector<std::pair<size_t, size_t>> next;
    for (auto [begin, end] : ranges) {
      tree.nodes[node].first = tree.edges.size();
      for (size_t i = begin; i < end;) {
        size_t stop = i;
        while (stop < end && points[stop][depth] == points[i][depth]) ++stop;
        tree.edges.push_back({points[i][depth], static_cast<uint32_t>(tree.nodes.size())});
        tree.nodes.push_back({0, 0, stop - i});
        next.emplace_back(i, stop);
        i = stop;
      }
      tree.nodes[node].edges = tree.edges.size() - tree.nodes[node].first;
      ++node;
    }
    ranges = std::move(next);
  }
  space.trees_.push_back(std::move(tree));
  space.finish();
  return space;
}

bool Space::build(Tree& tree) const {
  Point point(parameters_.size(), 0);
  // Checks that can be evaluated once the parameter at a depth has its value.
  std::vector<std::vector<const Check*>> decided(tree.parameters.size());
  for (size_t c : tree.constraints) {
    size_t last = 0;
    for (size_t depth = 0; depth < tree.parameters.size(); ++depth)
      if (std::count(checks_[c].parameters.begin(), checks_[c].parameters.end(), tree.parameters[depth])) last = depth;
    decided[last].push_back(&checks_[c]);
  }
  std::function<bool(size_t, Node&)> grow = [&](size_t depth, Node& node) {
    if (depth == tree.parameters.size()) return node.leaves = 1, true;
    std::vector<Edge> edges;
    for (uint16_t value = 0; value < parameters_[tree.parameters[depth]].values.size(); ++value) {
      point[tree.parameters[depth]] = value;
      bool keep =
          std::all_of(decided[depth].begin(), decided[depth].end(), [&](auto* check) { return holds(*check, point); });
      Node child;
      if (!keep) continue;
      if (!grow(depth + 1, child)) return false;
      if (!child.leaves) continue;
      if (tree.nodes.size() > kTreeNodes) return false;
      edges.push_back({value, static_cast<uint32_t>(tree.nodes.size())});
      tree.nodes.push_back(child);
      node.leaves += child.leaves;
    }
    node.first = tree.edges.size(), node.edges = edges.size();
    tree.edges.insert(tree.edges.end(), edges.begin(), edges.end());
    return true;
  };
  tree.nodes.emplace_back();
  Node root;
  if (!grow(0, root)) return false;
  tree.nodes[0] = root;
  return true;
}

void Space::finish() {
  count_ = 1;
  for (auto& tree : trees_) {
    if (tree.nodes.empty()) indexed_ = false;
    count_ *= tree.nodes.empty() ? estimate(tree) : double(tree.nodes[0].leaves);
  }
  if (count_ > 9e18) indexed_ = false;
}

bool Space::descend(const Tree& tree, size_t depth, Point& point, Random& random, int& effort) const {
  if (depth == tree.parameters.size()) return true;
  size_t p = tree.parameters[depth];
  std::vector<uint16_t> order(parameters_[p].values.size());
  std::iota(order.begin(), order.end(), uint16_t{0});
  std::shuffle(order.begin(), order.end(), random);
  std::vector<size_t> bound(tree.parameters.begin(), tree.parameters.begin() + depth + 1);
  for (uint16_t value : order) {
    if (--effort < 0) return false;
    point[p] = value;
    bool keep = true;
    for (size_t c : tree.constraints) {
      auto& needed = checks_[c].parameters;
      bool decidable = std::count(needed.begin(), needed.end(), p) &&
                       std::all_of(needed.begin(), needed.end(),
                                   [&](size_t q) { return std::count(bound.begin(), bound.end(), q); });
      if (decidable && !holds(checks_[c], point)) keep = false;
    }
    if (keep && descend(tree, depth + 1, point, random, effort)) return true;
  }
  return false;
}

double Space::estimate(const Tree& tree) const {
  // Independent draws of the unconstrained product; the valid share times its size.
  Random random(1);
  double product = 1;
  for (size_t p : tree.parameters) product *= parameters_[p].values.size();
  int kept = 0;
  Point point(parameters_.size(), 0);
  for (int probe = 0; probe < kEstimateProbes; ++probe) {
    for (size_t p : tree.parameters) point[p] = random() % parameters_[p].values.size();
    kept += std::all_of(tree.constraints.begin(), tree.constraints.end(),
                        [&](size_t c) { return holds(checks_[c], point); });
  }
  if (kept) return product * kept / kEstimateProbes;
  int effort = kDescentEffort;
  return descend(tree, 0, point, random, effort) ? product / kEstimateProbes : 0;
}

bool Space::valid(const Point& point) const {
  if (point.size() != parameters_.size() || count_ == 0) return false;
  for (auto& tree : trees_) {
    if (tree.nodes.empty()) {
      for (size_t c : tree.constraints)
        if (!holds(checks_[c], point)) return false;
      continue;
    }
    const Node* node = &tree.nodes[0];
    for (size_t p : tree.parameters) {
      auto begin = tree.edges.begin() + node->first, end = begin + node->edges;
      auto found =
          std::lower_bound(begin, end, point[p], [](const Edge& edge, uint16_t value) { return edge.value < value; });
      if (found == end || found->value != point[p]) return false;
      node = &tree.nodes[found->node];
    }
  }
  return true;
}

void Space::take_leaf(const Tree& tree, uint64_t n, Point& point) {
  const Node* node = &tree.nodes[0];
  for (size_t p : tree.parameters) {
    const Edge* edge = &tree.edges[node->first];
    while (n >= tree.nodes[edge->node].leaves) n -= tree.nodes[edge->node].leaves, ++edge;
    point[p] = edge->value;
    node = &tree.nodes[edge->node];
  }
}

Point Space::at(uint64_t rank) const {
  Point point(parameters_.size(), 0);
  for (size_t t = trees_.size(); t-- > 0;) {
    auto& tree = trees_[t];
    take_leaf(tree, rank % tree.nodes[0].leaves, point);
    rank /= tree.nodes[0].leaves;
  }
  return point;
}

Point Space::sample(Random& random) const {
  if (indexed_) return at(std::uniform_int_distribution<uint64_t>(0, static_cast<uint64_t>(count_) - 1)(random));
  Point point(parameters_.size(), 0);
  for (auto& tree : trees_) {
    if (tree.nodes.empty()) {
      int effort = kDescentEffort;
      descend(tree, 0, point, random, effort);
      continue;
    }
    take_leaf(tree, std::uniform_int_distribution<uint64_t>(0, tree.nodes[0].leaves - 1)(random), point);
  }
  return point;
}

std::vector<Point> Space::neighbours(const Point& point, bool near) const {
  std::vector<Point> found;
  Point other = point;
  for (size_t p = 0; p < parameters_.size(); ++p) {
    size_t values = parameters_[p].values.size();
    for (size_t value = 0; value < values; ++value) {
      size_t distance = value > point[p] ? value - point[p] : point[p] - value;
      if (!distance || (near && parameters_[p].ordered && distance > 1)) continue;
      other[p] = value;
      if (valid(other)) found.push_back(other);
    }
    other[p] = point[p];
  }
  return found;
}

Point Space::start(Random& random) const {
  Point point;
  for (auto& parameter : parameters_) point.push_back(parameter.start);
  if (valid(point) || count_ == 0) return point;  // An empty space cannot be sampled.
  constexpr int kDraws = 256;
  Point best;
  size_t fewest = SIZE_MAX;
  for (int draw = 0; draw < kDraws; ++draw) {
    Point other = sample(random);
    size_t different = 0;
    for (size_t p = 0; p < point.size(); ++p) different += other[p] != point[p];
    if (different < fewest) fewest = different, best = other;
  }
  return best;
}

Bindings Space::bindings(const Point& point) const {
  Bindings bound;
  for (size_t p = 0; p < parameters_.size(); ++p) bound[parameters_[p].name] = parameters_[p].values[point[p]];
  return bound;
}

bool Tunable::mixes_powers_of_two() const {
  constexpr size_t kMany = 8;
  if (values.size() <= kMany || !ordered) return false;
  for (size_t i = 0; i < labels.size(); ++i)
    if (labels[i] != std::to_string(values[i])) return false;
  const auto powers = std::ranges::count_if(values, is_power_of_two);
  return powers >= 2 && powers < std::ssize(values);
}

void Tunable::add_coordinates(double position, std::vector<double>& to) const {
  const bool known = position >= 0;
  if (values.size() < 2) return;
  if (ordered || values.size() == 2) {
    to.push_back(known ? position / static_cast<double>(values.size() - 1) : 0);
    if (!mixes_powers_of_two()) return;
    const auto at = static_cast<size_t>(std::max(position, 0.0));
    to.push_back(known && static_cast<double>(at) == position && is_power_of_two(values[at]));
  } else {
    for (size_t value = 0; value < values.size(); ++value)
      to.push_back(position == static_cast<double>(value) ? M_SQRT1_2 : 0);
  }
}

std::vector<double> Space::encode(const Point& point) const {
  std::vector<double> coordinates;
  for (size_t p = 0; p < parameters_.size(); ++p) parameters_[p].add_coordinates(point[p], coordinates);
  return coordinates;
}

}  // namespace kernelift::tuner
