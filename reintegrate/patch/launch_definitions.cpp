// See launch_definitions.h. Lines are read by their words: a definition that is spelled otherwise is not seen.
#include "reintegrate/patch/launch_definitions.h"

#include <algorithm>

#include "core/base/words.h"

namespace kernelift {
namespace {

/// NAME of `#define NAME 16`, `constexpr int NAME = 16;` and their kin; empty for other lines.
std::string_view defined_name(std::string_view line) {
  size_t at = std::min(line.find_first_not_of(" \t"), line.size());
  if (line.substr(at).starts_with("#")) {
    size_t define = line.find("define", at);
    if (define == line.npos) return {};
    at = std::min(line.find_first_not_of(" \t", define + 6), line.size());
  } else {
    size_t value = line.find_first_of("={");
    if (value == line.npos || line.find("const") > value) return {};
    at = value;
    while (at > 0 && !word_character(line[at - 1])) --at;
    while (at > 0 && word_character(line[at - 1])) --at;
  }
  return line.substr(at, end_of_word(line, at) - at);
}

}  // namespace

Status check_definitions(const Mep& mep, const std::vector<TextLine>& old_lines, const std::vector<Hunk>& hunks, const Bindings& turned) {
  std::set<std::string, std::less<>> names;
  for (auto& site : mep.launches)
    for (auto* axes : {site.grid, site.block})
      for (int axis = 0; axis < 3; ++axis)
        if (auto expression = Expression::parse(axes[axis]); expression.ok())
          for (auto& name : expression->variables()) names.insert(name.substr(name.rfind(':') + 1));
  for (auto& hunk : hunks)
    for (size_t line = hunk.old_begin; line < hunk.old_end; ++line) {
      std::string_view name = defined_name(old_lines[line].text);
      // A variable of the kernel's may have the name of one that the host computes its grid from.
      bool counts = trimmed(old_lines[line].text).starts_with("#") ||
                    std::any_of(mep.knobs.begin(), mep.knobs.end(), [&](auto& knob) { return knob.name == name || knob.name.ends_with("::" + std::string(name)); });
      bool known = turned.contains(name) || std::any_of(turned.begin(), turned.end(), [&](auto& one) { return one.first.ends_with("::" + std::string(name)); });
      if (counts && names.contains(name) && !known)
        return refused("the candidate rewrites '" + std::string(trimmed(old_lines[line].text)) + "', from which the launch is computed: it must be turned as a knob, which the launch is known to follow");
    }
  return done();
}

}  // namespace kernelift
