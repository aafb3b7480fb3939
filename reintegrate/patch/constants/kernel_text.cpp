// See kernel_text.h.
#include "reintegrate/patch/constants/kernel_text.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/base/words.h"
#include "core/compiler/written/source_tokens.h"

namespace kernelift::reintegrate {
namespace {

/// Index of the token behind the bracket that closes the one at `open`; the number of tokens if none does.
size_t behind_bracket(const std::vector<SourceToken>& tokens, size_t open, std::string_view opens,
                      std::string_view closes) {
  int depth = 0;
  for (size_t at = open; at < tokens.size(); ++at) {
    if (tokens[at].is(opens)) ++depth;
    if (tokens[at].is(closes) && --depth == 0) return at + 1;
  }
  return tokens.size();
}

/// Index of the first token of the declaration that the token at `at` is in.
size_t begin_of_declaration(const std::vector<SourceToken>& tokens, size_t at) {
  size_t begin = 0;
  for (size_t before = 0; before < at; ++before)
    if (tokens[before].is(";") || tokens[before].is("{") || tokens[before].is("}")) begin = before + 1;
  for (auto& directive : directives(tokens))
    if (directive.end <= at && directive.end > begin) begin = directive.end;
  return begin;
}

/// Of one definition: the indexes of its name and of the brace that opens its body.
struct NamedBody {
  size_t name = 0, body = 0;
};
std::vector<NamedBody> bodies_of(const std::vector<SourceToken>& tokens, const std::string& name) {
  std::vector<NamedBody> found;
  for (size_t at = 0; at + 1 < tokens.size(); ++at) {
    if (!tokens[at].is(name) || !tokens[at + 1].is("(")) continue;
    const size_t body = behind_bracket(tokens, at + 1, "(", ")");
    if (body < tokens.size() && tokens[body].is("{")) found.push_back({at, body});
  }
  return found;
}

}  // namespace

std::optional<KernelText> kernel_text(const std::string& text, const std::string& name) {
  const auto tokens = source_tokens(text);
  const auto found = bodies_of(tokens, name);
  if (found.empty()) return std::nullopt;
  const auto [at, body] = found.front();
  const size_t behind = behind_bracket(tokens, body, "{", "}");
  return KernelText{tokens[begin_of_declaration(tokens, at)].offset, tokens[body].end, tokens[behind - 1].end};
}

std::vector<size_t> definitions_of(const std::string& text, const std::string& name) {
  const auto tokens = source_tokens(text);
  std::vector<size_t> names;
  for (auto& one : bodies_of(tokens, name)) names.push_back(tokens[one.name].offset);
  return names;
}

std::string unused_name(const std::string& text, const std::string& stem) {
  std::string name = stem;
  for (int number = 2; !whole_words(text, name).empty(); ++number) name = stem + std::to_string(number);
  return name;
}

bool is_at_namespace_scope(const std::string& text, size_t at) {
  const auto tokens = source_tokens(text);
  std::vector<bool> open;  // Whether each open brace or bracket is a namespace's.
  for (size_t i = 0; i < tokens.size() && tokens[i].offset < at; ++i) {
    if (tokens[i].is("(") || tokens[i].is("[")) open.push_back(false);
    if (tokens[i].is("{")) {
      size_t word = i;  // `namespace a::b {` and `extern "C" {`
      while (word > 0 && (tokens[word - 1].kind == SourceToken::Kind::Identifier || tokens[word - 1].is("::")) &&
             !tokens[word - 1].is("namespace"))
        --word;
      const bool linkage = i > 1 && tokens[i - 1].kind == SourceToken::Kind::String && tokens[i - 2].is("extern");
      open.push_back(linkage || (word > 0 && tokens[word - 1].is("namespace")));
    }
    if ((tokens[i].is("}") || tokens[i].is(")") || tokens[i].is("]")) && !open.empty()) open.pop_back();
  }
  const auto directive = directives(tokens);
  const bool in_directive = std::ranges::any_of(directive, [&](auto& one) {
    return one.begin < one.end && tokens[one.begin].offset < at && at < tokens[one.end - 1].end;
  });
  return !in_directive && std::ranges::find(open, false) == open.end();
}

}  // namespace kernelift::reintegrate
