// See starting_points.h.
#include "tuner/search/starting_points.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/base/json.h"
#include "core/base/shown/outside_text.h"
#include "core/base/words.h"

namespace kernelift::tuner {
namespace {

constexpr size_t kLongestAnswer = 64 << 10;  ///< Bytes that are read: far more than eight configurations need.
constexpr size_t kMostRejected = 16;         ///< Sentences.
constexpr size_t kShown = 60;
constexpr size_t kByChance = 256;  ///< Points beside them that tell the prior where they are not.
/// Expected logarithms of cost: of a point that differs in everything, and of each rank among the proposed.
constexpr double kFar = 1, kRank = 0.02;

std::optional<double> number_of(const std::string& text) {
  double value = 0;
  auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && stop == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::optional<size_t> index_of(const Tunable& parameter, const Json& value) {
  const std::string spelled = value.is_string() ? value.get<std::string>() : compact(value);
  for (size_t i = 0; i < parameter.values.size(); ++i) {
    if (parameter.label(i) == spelled) return i;
    auto here = number_of(parameter.label(i)), wanted = number_of(spelled);
    if (here && wanted && *here == *wanted) return i;
  }
  return std::nullopt;
}

std::string values_of(const Tunable& parameter) {
  constexpr size_t kMost = 12;
  std::string text;
  for (size_t i = 0; i < std::min(kMost, parameter.values.size()); ++i) text += (i ? ", " : "") + parameter.label(i);
  return text + (parameter.values.size() > kMost ? ", …" : "");
}

/// The point, or why it is none of the space.
Result<Point> point_of(const Space& space, const Json& configuration) {
  if (!configuration.is_object()) return usage_error("it is no object of names and values");
  Point point;
  for (auto& parameter : space.parameters()) point.push_back(static_cast<uint16_t>(parameter.start));
  for (auto& [name, value] : configuration.items()) {
    const auto& parameters = space.parameters();
    auto found = std::ranges::find(parameters, name, &Tunable::name);
    if (found == parameters.end()) return usage_error("there is no parameter " + shown_line(name, kShown));
    auto index = index_of(*found, value);
    if (!index)
      return usage_error(name + " has no value " +
                         shown_line(value.is_structured() ? "of this kind" : compact(value), kShown) + "; it has " +
                         values_of(*found));
    point[static_cast<size_t>(found - parameters.begin())] = static_cast<uint16_t>(*index);
  }
  if (!space.valid(point)) return usage_error("these values do not go together");
  return point;
}

/// The text from a brace on to the one that closes it; empty: none does.
std::string_view braced(std::string_view text, size_t begin) {
  int open = 0;
  for (size_t at = begin; at < text.size(); ++at) {
    open += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
    if (open == 0) return text.substr(begin, at + 1 - begin);
  }
  return {};
}

/// The object with the configurations, among words and objects that may have braces of their own. Looked for from its
/// name backwards.
Json object_in(const std::string& answer) {
  constexpr int kMostTries = 64;
  constexpr std::string_view kName = "\"configurations\"";
  int tries = 0;
  for (size_t name = answer.find(kName); name != answer.npos; name = answer.find(kName, name + 1))
    for (size_t begin = answer.rfind('{', name); begin != answer.npos && ++tries <= kMostTries;
         begin = begin == 0 ? answer.npos : answer.rfind('{', begin - 1)) {
      Json read = Json::parse(braced(answer, begin), nullptr, false);
      if (read.is_object() && read.contains("configurations")) return read;
    }
  return {};
}

}  // namespace

Result<StartingPoints> StartingPoints::read(const Space& space, const std::string& answer) {
  if (answer.size() > kLongestAnswer)
    return usage_error("the answer is longer than " + std::to_string(kLongestAnswer >> 10) + " KiB");
  const Json read = object_in(answer);
  auto list = read.is_object() ? read.find("configurations") : read.end();
  if (!read.is_object() || list == read.end() || !list->is_array())
    return usage_error("the answer has no JSON object with a list 'configurations'");
  StartingPoints made;
  size_t number_of = 0;
  for (auto& configuration : *list) {
    ++number_of;
    auto point = point_of(space, configuration);
    std::string why = point.ok() ? "" : point.error().message;
    if (point.ok() && std::ranges::find(made.points, *point) != made.points.end()) why = "it repeats an earlier one";
    if (why.empty() && made.points.size() == kMostStartingPoints) break;
    if (why.empty()) made.points.push_back(*std::move(point));
    else if (made.rejected.size() < kMostRejected)
      made.rejected.push_back("configuration " + std::to_string(number_of) + ": " + why);
  }
  return made;
}

EarlierRun StartingPoints::as_run(const Space& space, const std::string& name) const {
  std::vector<std::vector<double>> places;
  for (auto& point : points) places.push_back(space.encode(point));
  EarlierRun run{name, space.parameters()};
  auto add = [&](const Point& point) {
    const std::vector<double> here = space.encode(point);
    double expected = INFINITY;
    for (size_t rank = 0; rank < places.size(); ++rank) {
      double squares = 0;
      for (size_t i = 0; i < here.size(); ++i) squares += (here[i] - places[rank][i]) * (here[i] - places[rank][i]);
      const double distance = here.empty() ? 0 : std::sqrt(squares / static_cast<double>(here.size()));
      expected = std::min(expected, kFar * distance + kRank * static_cast<double>(rank));
    }
    run.trials.push_back({point, true, std::exp(expected)});
  };
  Random random(1);
  for (auto& point : points) {
    add(point);
    for (auto& near : space.neighbours(point, false)) add(near);
  }
  for (size_t draw = 0; draw < kByChance; ++draw) add(space.sample(random));
  return run;
}

}  // namespace kernelift::tuner
