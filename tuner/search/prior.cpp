// See prior.h. One forest per earlier run: runs may disagree, and each is trusted as far as it proves right.
#include "tuner/search/prior.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

namespace kernelift::tuner {
namespace {

constexpr size_t kMostRows = 4000;         ///< Of one run: its best half, and an even choice of the others.
constexpr uint64_t kMostLookedAt = 20000;  ///< Points of a space among which the promising ones are looked for.
constexpr size_t kPromising = 64;

std::optional<double> number(const std::string& text) {
  double value = 0;
  auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && stop == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// The position of a value among the parameter's ordered values, in steps; between two of them if it lies there, at an
/// end if beyond it. nullopt: it cannot be compared with them.
std::optional<double> position(const Tunable& parameter, const std::string& label) {
  for (size_t i = 0; i < parameter.values.size(); ++i)
    if (parameter.label(i) == label) return static_cast<double>(i);
  auto value = number(label);
  if (!value || !parameter.ordered) return std::nullopt;
  std::optional<double> before;
  for (size_t i = 0; i < parameter.values.size(); ++i) {
    auto here = number(parameter.label(i));
    if (!here) return std::nullopt;
    if (*here > *value)
      return before ? static_cast<double>(i) - (*here - *value) / (*here - *before) : static_cast<double>(i);
    before = here;
  }
  return static_cast<double>(parameter.values.size() - 1);
}

/// One parameter of the space, and where an earlier run has it.
struct Match {
  size_t theirs;
  std::vector<std::optional<double>> positions;  ///< By index of their value.
};

struct Matches {
  std::vector<std::optional<Match>> parameters;  ///< By parameter of the space.
  std::string missing, other_values, extra;      ///< Names, for the sentence.
  bool any = false;                              ///< Of a parameter that has several values in both.
};

void list(std::string& names, const std::string& name) { names += (names.empty() ? "" : ", ") + name; }

Matches match(const Space& space, const EarlierRun& run) {
  Matches made;
  for (auto& ours : space.parameters()) {
    auto& slot = made.parameters.emplace_back();
    if (ours.values.size() < 2) continue;
    auto theirs = std::ranges::find(run.parameters, ours.name, &Tunable::name);
    if (theirs == run.parameters.end()) {
      list(made.missing, ours.name);
      continue;
    }
    Match found{static_cast<size_t>(theirs - run.parameters.begin()), {}};
    bool all = true;
    size_t known = 0;
    for (size_t i = 0; i < theirs->values.size(); ++i) {
      found.positions.push_back(position(ours, theirs->label(i)));
      auto& at = found.positions.back();
      known += at.has_value();
      all &= at && *at == std::floor(*at) && ours.label(static_cast<size_t>(*at)) == theirs->label(i);
    }
    if (!all) list(made.other_values, ours.name);
    if (known == 0) continue;
    made.any |= known > 1;
    slot = std::move(found);
  }
  for (auto& theirs : run.parameters)
    if (theirs.values.size() > 1 &&
        std::ranges::find(space.parameters(), theirs.name, &Tunable::name) == space.parameters().end())
      list(made.extra, theirs.name);
  return made;
}

/// As Space::encode(); a parameter that the run lacks is 0 everywhere, so that nothing depends on it.
std::optional<std::vector<double>> encode(const Space& space, const Matches& matches, const Point& theirs) {
  std::vector<double> coordinates;
  for (size_t p = 0; p < space.parameters().size(); ++p) {
    auto& ours = space.parameters()[p];
    double at = -1;
    if (auto& match = matches.parameters[p]) {
      auto& position = match->positions[theirs[match->theirs]];
      if (!position) return std::nullopt;
      at = *position;
    }
    ours.add_coordinates(at, coordinates);
  }
  return coordinates;
}

/// Coordinates and the lowest logarithm of the cost seen there. What failed counts as slow as the slowest.
std::vector<RegressionForest::Row> rows_of(const Space& space, const Matches& matches, const EarlierRun& run) {
  double slowest = -INFINITY;
  for (auto& trial : run.trials)
    if (trial.ok) slowest = std::max(slowest, std::log(trial.cost));
  std::map<std::vector<double>, double> best;
  if (std::isfinite(slowest))
    for (auto& trial : run.trials)
      if (auto at = encode(space, matches, trial.point)) {
        double cost = trial.ok ? std::log(trial.cost) : slowest;
        auto [known, fresh] = best.emplace(std::move(*at), cost);
        if (!fresh) known->second = std::min(known->second, cost);
      }
  std::vector<RegressionForest::Row> rows;
  for (auto& [at, cost] : best) rows.push_back({at, cost});
  if (rows.size() <= kMostRows) return rows;
  std::ranges::sort(rows, [](auto& a, auto& b) { return std::tie(a.target, a.at) < std::tie(b.target, b.at); });
  std::vector<RegressionForest::Row> kept(rows.begin(), rows.begin() + kMostRows / 2);
  const size_t rest = rows.size() - kMostRows / 2;
  for (size_t i = 0; i < kMostRows / 2; ++i) kept.push_back(rows[kMostRows / 2 + i * rest / (kMostRows / 2)]);
  return kept;
}

}  // namespace

Prior Prior::of(const Space& space, const std::vector<EarlierRun>& runs, std::vector<std::string>& notes) {
  Prior prior;
  if (space.count() == 0) return prior;
  Random random(1);
  std::vector<Point> looked_at;
  if (space.indexed() && space.count() <= kMostLookedAt)
    for (uint64_t rank = 0; rank < static_cast<uint64_t>(space.count()); ++rank) looked_at.push_back(space.at(rank));
  else
    for (uint64_t draw = 0; draw < kMostLookedAt; ++draw) looked_at.push_back(space.sample(random));
  std::vector<std::vector<double>> places;
  for (auto& point : looked_at) places.push_back(space.encode(point));
  for (auto& run : runs) {
    Matches matches = match(space, run);
    if (!matches.any) {
      notes.push_back(run.name + " is not inherited: its parameters have no name and values in common with these");
      continue;
    }
    auto rows = rows_of(space, matches, run);
    if (rows.size() < 2) {
      notes.push_back(run.name + " is not inherited: none of its trials can be compared with these");
      continue;
    }
    std::string part;
    if (!matches.missing.empty()) part += "; it does not know " + matches.missing;
    if (!matches.other_values.empty()) part += "; it has other values of " + matches.other_values;
    if (!matches.extra.empty()) part += "; it also has " + matches.extra + ", of which the best counts";
    if (!part.empty()) notes.push_back(run.name + " is inherited in part" + part);
    Source source;
    source.forest.fit(rows, random);
    std::vector<double> predicted;
    for (auto& place : places) predicted.push_back(source.forest.predict(place));
    // Of points that the run cannot tell apart, those that chance puts first.
    std::vector<std::pair<double, uint64_t>> order;
    for (double cost : predicted) order.emplace_back(cost, random());
    std::vector<size_t> fastest(looked_at.size());
    for (size_t i = 0; i < fastest.size(); ++i) fastest[i] = i;
    std::ranges::sort(fastest, {}, [&](size_t i) { return order[i]; });
    for (size_t i = 0; i < std::min(kPromising, fastest.size()); ++i) source.promising.push_back(looked_at[fastest[i]]);
    prior.sources_.push_back(std::move(source));
    prior.trials_ += rows.size();
  }
  return prior;
}

}  // namespace kernelift::tuner
