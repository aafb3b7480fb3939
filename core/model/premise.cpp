// See premise.h.
#include "core/model/premise.h"

#include <algorithm>

namespace kernelift {

Premise Premise::holds(Expression condition, size_t launches) {
  return {.launches = launches, .kind = Kind::Holds, .condition = std::move(condition)};
}

Premise Premise::no_overlap(const std::set<std::string>& arguments, size_t launches) {
  return {.launches = launches, .kind = Kind::NoOverlap, .arguments = {arguments.begin(), arguments.end()}};
}

Premise Premise::aligned(std::string argument, uint64_t bytes, size_t launches) {
  return {.launches = launches, .kind = Kind::Aligned, .arguments = {std::move(argument)}, .bytes = bytes};
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (size_t left = names.size(); auto& name : names) text += name + (--left > 1 ? ", " : left == 1 ? " and " : "");
  return text;
}

std::string Premise::text() const {
  switch (kind) {
    case Kind::Holds: return condition.text();
    case Kind::NoOverlap:
      return listed(arguments) + (arguments.size() > 1 ? " do not overlap" : " overlaps no other array");
    case Kind::Aligned: return listed(arguments) + " is a multiple of " + std::to_string(bytes) + " bytes";
    default: return words;
  }
}

std::string Premise::seen() const {
  if (launches == 0) return {};
  return launches == 1 ? ", as in the recorded launch"
                       : ", as in all " + std::to_string(launches) + " recorded launches";
}

bool Premise::askable(const std::set<std::string>& parameters) const {
  auto known = [&](const std::string& name) {
    return parameters.contains(name) || name.starts_with("gridDim.") || name.starts_with("blockDim.");
  };
  switch (kind) {
    case Kind::Holds: return std::ranges::all_of(condition.variables(), known);
    case Kind::Aligned: return std::ranges::all_of(arguments, known);
    default: return false;  // How far a kernel goes from a pointer, no launch knows.
  }
}

Json to_json(const Premise& premise) {
  Json json{{"text", premise.text()}};
  if (premise.launches > 0) json["launches"] = premise.launches;
  if (premise.kind == Premise::Kind::Holds) json["condition"] = premise.condition.text();
  if (premise.kind == Premise::Kind::NoOverlap) json["no_overlap"] = premise.arguments;
  if (premise.kind == Premise::Kind::Aligned)
    json["aligned"] = premise.arguments.front(), json["bytes"] = premise.bytes;
  return json;
}

Premise premise_from_json(const Json& from) {
  if (!from.is_object()) malformed("a premise is an object: {\"text\": …}");
  for (auto& [key, value] : from.items())
    if (!std::ranges::count(
            std::initializer_list<std::string_view>{"text", "launches", "condition", "no_overlap", "aligned", "bytes"},
            key))
      malformed("'" + key + "' is not known; a premise has text, launches, condition, no_overlap, aligned, bytes");
  const size_t launches = from.value("launches", size_t{0});
  if (auto condition = from.find("condition"); condition != from.end()) {
    auto parsed = Expression::parse(condition->get<std::string>());
    if (!parsed.ok()) malformed(parsed.error().message);
    return Premise::holds(std::move(*parsed), launches);
  }
  if (auto arguments = from.find("no_overlap"); arguments != from.end()) {
    auto names = arguments->get<std::set<std::string>>();
    if (names.empty()) malformed("no_overlap names no arguments");
    return Premise::no_overlap(names, launches);
  }
  if (auto argument = from.find("aligned"); argument != from.end())
    return Premise::aligned(argument->get<std::string>(), from.at("bytes").get<uint64_t>(), launches);
  if (!from.contains("text")) malformed("'text' is missing");
  return {from.at("text").get<std::string>(), launches};
}

}  // namespace kernelift
