// See own_constants.h.
#include "reintegrate/patch/constants/own_constants.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "core/base/words.h"
#include "core/compiler/written/source_tokens.h"
#include "core/model/knob/knob_text.h"
#include "core/model/knob/template_arguments.h"
#include "reintegrate/patch/constants/kernel_text.h"
#include "reintegrate/patch/kernel_beside.h"

namespace kernelift::reintegrate {
namespace {

bool is_changed(const Knob& knob, const Candidate& candidate) {
  auto value = candidate.values.find(knob.name);
  return value != candidate.values.end() && value->second != knob.value;
}

/// Offset of the line on which a declaration at `begin` starts, or of the comment above it; nullopt: other text is in
/// front of it on that line.
std::optional<size_t> line_to_insert_at(const std::string& text, size_t begin) {
  auto line_of = [&](size_t at) { return at == 0 ? 0 : text.rfind('\n', at - 1) + 1; };  // npos + 1 is 0.
  size_t line = line_of(begin);
  if (!trimmed(std::string_view(text).substr(line, begin - line)).empty()) return std::nullopt;
  const auto comments = source_comments(text);
  for (auto comment = comments.rbegin(); comment != comments.rend(); ++comment) {
    if (comment->end > line) continue;
    const std::string_view between = std::string_view(text).substr(comment->end, line - comment->end);
    const size_t start = line_of(comment->offset);
    if (!trimmed(between).empty() || std::ranges::count(between, '\n') > 1 ||
        !trimmed(std::string_view(text).substr(start, comment->offset - start)).empty())
      break;
    line = start;
  }
  return line;
}

/// Indexes of the tokens that ask only whether a macro is defined.
std::set<size_t> asked_whether_defined(const std::vector<SourceToken>& tokens) {
  std::set<size_t> asked;
  for (auto& directive : directives(tokens)) {
    const std::string& kind = directive.begin < directive.end ? tokens[directive.begin].text : "";
    for (size_t at = directive.begin + 1; at < directive.end; ++at) {
      const size_t before = tokens[at - 1].is("(") ? at - 2 : at - 1;
      if (kind == "ifdef" || kind == "ifndef" || kind == "undef" ||
          (before > directive.begin && tokens[before].is("defined")))
        asked.insert(at);
    }
  }
  return asked;
}

/// The type of a constant as its name's declaration says it. An enumerator's would not take another number.
std::string type_of(const std::string& name, const std::vector<SourceToken>& tokens, size_t at) {
  for (; at > 0 && !tokens[at - 1].is(";") && !tokens[at - 1].is("}"); --at)
    if (tokens[at - 1].is("enum")) return "int";
  return "decltype(" + name + ")";
}

/// Puts a constant of the kernel's own into the text, where the kernel uses `knob`.
Status give_own(const Mep& mep, const std::string& original, const Knob& knob, int64_t value, std::string& text) {
  auto defined = find_knob(text, knob.name, value), before = find_knob(original, knob.name, knob.value);
  if (!defined && !mentions_word(text, knob.name)) return done();  // Only launches use it.
  if (!defined || !before) return refused("the kernel's text does not define '" + knob.name + "' exactly once");
  auto kernel = kernel_text(text, own_name(mep.kernel_name));
  if (!kernel) return refused("where the text defines '" + mep.kernel_name + "' is not known");
  if (kernel->begin < defined->begin && defined->end < kernel->end) return done();  // It is the kernel's own.
  const std::string number = text.substr(defined->begin, defined->end - defined->begin);
  text.replace(defined->begin, number.size(), original.substr(before->begin, before->end - before->begin));
  kernel = kernel_text(text, own_name(mep.kernel_name));

  const auto tokens = source_tokens(text);
  const auto harmless = asked_whether_defined(tokens);
  std::vector<size_t> inside, outside;
  for (size_t at = 0; at < tokens.size(); ++at) {
    if (tokens[at].kind != SourceToken::Kind::Identifier || tokens[at].text != knob.name) continue;
    const bool in_kernel = tokens[at].offset >= kernel->begin && tokens[at].end <= kernel->end;
    if (in_kernel) inside.push_back(at);
    else if (!harmless.contains(at)) outside.push_back(at);
  }
  // The name stands right in front of its value.
  const auto definition = std::ranges::find_if(outside, [&](size_t at) { return tokens[at].end <= defined->begin; });
  for (size_t at : outside)
    if (definition == outside.end() || at != *definition)
      return refused("'" + knob.name + "' is used outside of the kernel, too (line " + std::to_string(tokens[at].line) +
                     " of kernel.cu), so that the kernel cannot have one of its own");
  if (inside.empty()) return done();
  const std::string own = unused_name(text, argument_constant(own_name(mep.kernel_name), knob.name)),
                    type = knob.is_macro ? "" : type_of(knob.name, tokens, *definition);
  const auto line = line_to_insert_at(text, kernel->begin);
  if (!line) return refused("'" + mep.kernel_name + "' begins in the middle of a line");
  for (auto use = inside.rbegin(); use != inside.rend(); ++use)
    text.replace(tokens[*use].offset, tokens[*use].end - tokens[*use].offset, own);
  text.insert(*line, knob.is_macro ? "#define " + own + " " + number + "\n"
                                   : "constexpr " + type + " " + own + " = " + number + ";\n");
  return done();
}

/// The launch's size with numbers in place of the constants. Where it counts the threads of the original's grid, by a
/// number that is the original's block, it names that block: the application may have another one later.
Expression without_constants(const Expression& size, const std::map<std::string, Expression>& constants,
                             const Mep& mep) {
  Expression made = size.substitute(constants);
  for (int axis = 0; axis < 3; ++axis) {
    const Expression grid = Expression::variable(kGridVariables[axis]);
    const bool same = std::ranges::all_of(mep.instances, [&](auto& one) {
      return along(one.geometry.block, axis) == along(mep.instances[0].geometry.block, axis);
    });
    if (mep.instances.empty() || !same) continue;
    const Expression threads =
        grid * Expression::constant(static_cast<int64_t>(along(mep.instances[0].geometry.block, axis)));
    made = made.rewritten([&](const Expression& node) {
      return node == threads ? std::optional(grid * Expression::variable(kBlockVariables[axis])) : std::nullopt;
    });
  }
  return made;
}

}  // namespace

bool changes_constants(const Mep& mep, const Candidate& candidate) {
  return std::ranges::any_of(mep.knobs, [&](auto& knob) { return is_changed(knob, candidate); });
}

Result<Candidate> with_own_constants(const Mep& mep, const std::string& original, Candidate candidate) {
  std::map<std::string, Expression> numbers;
  for (auto& knob : mep.knobs) {
    if (!is_changed(knob, candidate)) continue;
    if (is_template_argument(mep, knob))
      return refused("'" + knob.name + "' is an argument of the kernel's template, and no constant");
    if (knob.name.find("::") != std::string::npos)
      return refused("'" + knob.name + "' is a member of a type, which a kernel cannot have one of its own of");
    const int64_t value = candidate.values.at(knob.name);
    KERNELIFT_TRY(give_own(mep, original, knob, value, candidate.source));
    numbers.emplace(knob.name, Expression::constant(value));
    candidate.values.erase(knob.name);
  }
  for (auto& launch : candidate.launches) {
    for (int axis = 0; axis < 3; ++axis) {
      launch.grid[axis] = without_constants(launch.grid[axis], numbers, mep);
      launch.block[axis] = without_constants(launch.block[axis], numbers, mep);
    }
    launch.shared = without_constants(launch.shared, numbers, mep);
  }
  return candidate;
}

}  // namespace kernelift::reintegrate
