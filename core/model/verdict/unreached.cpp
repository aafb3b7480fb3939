// See unreached.h.
#include "core/model/verdict/unreached.h"

#include <algorithm>
#include <sstream>

#include "core/base/shown/outside_text.h"
#include "core/base/words.h"

namespace kernelift {
namespace {

constexpr size_t kMostShown = 4, kLongestCode = 60;

}  // namespace

void Unreached::read(const std::string& source) {
  code.clear();
  std::vector<std::string> lines;
  std::istringstream stream(source);
  for (std::string line; std::getline(stream, line);) lines.push_back(std::move(line));
  for (size_t i = 0; i < std::min(places.size(), kMostShown); ++i) {
    const CodePlace& place = places[i];
    const bool is_there = place.line > 0 && place.line <= lines.size();
    code.push_back(is_there ? shown_line(trimmed(lines[place.line - 1]), kLongestCode) : "");
  }
}

std::string Unreached::text() const {
  std::string text;
  const size_t shown = std::min(places.size(), kMostShown), more = places.size() - shown;
  for (size_t i = 0; i < shown; ++i) {
    text += i == 0 ? "" : i + 1 == shown && more == 0 ? " and " : ", ";
    text += "line " + std::to_string(places[i].line);
    if (i < code.size() && !code[i].empty()) text += " (" + code[i] + ")";
  }
  if (more > 0) text += " and " + counted(more, "further place");
  return text;
}

Json to_json(const Unreached& unreached) {
  Json places = Json::array();
  for (auto& place : unreached.places) places.push_back({place.line, place.column});
  return {{"places", places}, {"code", unreached.code}};
}

Unreached unreached_from_json(const Json& from) {
  Unreached unreached;
  for (auto& place : from.at("places"))
    unreached.places.push_back({place.at(0).get<uint32_t>(), place.at(1).get<uint32_t>()});
  from.at("code").get_to(unreached.code);
  return unreached;
}

}  // namespace kernelift
