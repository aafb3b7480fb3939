// Lines are read word by word: a definition in another form than those of definitions_on() is not recognised.
#include "reintegrate/patch/launch/launch_definitions.h"

#include <algorithm>

#include "core/base/words.h"
#include "core/model/kernel_key.h"

namespace kernelift::reintegrate {
namespace {

using Definitions =
    std::vector<std::pair<std::string_view, std::string_view>>;  ///< Names, and values as they are spelled.

/// The definitions on a line like `#define NAME 16` or `constexpr int NAME = 16, OTHER{8};`; none on other lines.
Definitions definitions_on(std::string_view line) {
  size_t at = std::min(line.find_first_not_of(" \t"), line.size());
  if (line.substr(at).starts_with("#")) {
    size_t define = line.find("define", at);
    if (define == line.npos) return {};
    at = std::min(line.find_first_not_of(" \t", define + 6), line.size());
    size_t end = end_of_word(line, at);
    return {{line.substr(at, end - at), trimmed(line.substr(end))}};
  }
  size_t value = line.find_first_of("={");
  if (value == line.npos || line.find("const") > value) return {};
  Definitions found;
  while (value != line.npos) {
    size_t end = value;
    while (end > at && !word_character(line[end - 1])) --end;
    size_t name = end;
    while (name > at && word_character(line[name - 1])) --name;
    size_t past = value;
    for (int depth = 0; past < line.size() && (depth > 0 || (line[past] != ',' && line[past] != ';')); ++past)
      depth += (line[past] == '(' || line[past] == '{') - (line[past] == ')' || line[past] == '}');
    found.push_back({line.substr(name, end - name), trimmed(line.substr(value, past - value))});
    at = past;
    value = past < line.size() && line[past] == ',' ? line.find_first_of("={", past) : line.npos;
  }
  return found;
}

}  // namespace

Status check_definitions(const Mep& mep, const std::vector<TextLine>& old_lines, const std::vector<TextLine>& new_lines,
                         const std::vector<Hunk>& hunks, const Bindings& set_knobs) {
  std::set<std::string, std::less<>> names;
  for (auto& site : mep.launches)
    for (auto* axes : {site.grid, site.block})
      for (int axis = 0; axis < 3; ++axis)
        if (axes[axis])
          for (auto& name : axes[axis]->variables()) names.insert(unqualified_name(name));
  auto is = [](const std::string& name, std::string_view last) {
    return name == last || name.ends_with("::" + std::string(last));
  };
  for (auto& hunk : hunks) {
    Definitions now;
    for (size_t line = hunk.new_begin; line < hunk.new_end; ++line)
      for (auto& definition : definitions_on(new_lines[line].text)) now.push_back(definition);
    for (size_t line = hunk.old_begin; line < hunk.old_end; ++line)
      for (auto& definition : definitions_on(old_lines[line].text)) {
        std::string_view name = definition.first;
        // A local constant of the kernel may have the same name as a variable from which the host computes its grid.
        bool counts = trimmed(old_lines[line].text).starts_with("#") ||
                      std::any_of(mep.knobs.begin(), mep.knobs.end(), [&](auto& knob) { return is(knob.name, name); });
        bool known = std::any_of(set_knobs.begin(), set_knobs.end(), [&](auto& one) { return is(one.first, name); });
        bool stays = std::find(now.begin(), now.end(), definition) != now.end();
        if (counts && names.contains(name) && !known && !stays)
          return refused(
              "the candidate rewrites '" + std::string(trimmed(old_lines[line].text)) +
              "', from which the launch is computed: set it as a knob instead, because the launch is known to follow "
              "knobs");
      }
  }
  return done();
}

}  // namespace kernelift::reintegrate
