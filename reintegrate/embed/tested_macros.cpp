// See tested_macros.h.
#include "reintegrate/embed/tested_macros.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/file.h"
#include "core/compiler/written/source_tokens.h"

namespace kernelift::reintegrate {
namespace {

using Tokens = std::span<const SourceToken>;

struct Directive {
  Tokens tokens;  ///< Without its '#'; empty: it has no word.
  uint32_t line = 0;

  std::string_view keyword() const { return tokens.empty() ? std::string_view() : std::string_view(tokens[0].text); }
  bool opens() const { return keyword().starts_with("if"); }
  bool asks() const { return opens() || keyword().starts_with("elif"); }
  Tokens rest() const { return tokens.subspan(std::min<size_t>(tokens.size(), 1)); }
  std::string name() const { return rest().empty() ? std::string() : rest()[0].text; }
};

class Directives {
 public:
  explicit Directives(std::string_view text) : tokens_(source_tokens(text)) {
    for (auto& [begin, end] : directives(tokens_))
      all_.push_back({Tokens(tokens_).subspan(begin, end - begin), tokens_[begin - 1].line});
  }
  const std::vector<Directive>& all() const& { return all_; }
  void all() && = delete;  // They are parts of this.
  /// Those of lines [begin, end].
  Tokens lines(uint32_t begin, uint32_t end) const {
    const auto first = std::ranges::lower_bound(tokens_, begin, {}, &SourceToken::line),
               last = std::ranges::upper_bound(tokens_, end, {}, &SourceToken::line);
    return first < last ? Tokens(first, last) : Tokens();
  }

 private:
  std::vector<SourceToken> tokens_;
  std::vector<Directive> all_;
};

/// Names that may be macros.
std::set<std::string> names_in(Tokens tokens) {
  static const std::set<std::string> operators = {"defined", "true", "false", "and", "or", "not"};
  std::set<std::string> names;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].kind != SourceToken::Kind::Identifier) continue;
    const std::string& name = tokens[i].text;
    if (name.starts_with("__has_") && i + 1 < tokens.size() && tokens[i + 1].is("(")) {  // Within are no macros.
      int depth = 0;
      do {
        ++i;
        depth += tokens[i].is("(") ? 1 : tokens[i].is(")") ? -1 : 0;
      } while (depth > 0 && i + 1 < tokens.size());
    } else if (!operators.contains(name)) {
      names.insert(name);
    }
  }
  return names;
}

/// The macro and value of `#ifndef X`, `#define X VALUE`.
std::optional<std::pair<std::string, std::string>> defined_if_undefined(const std::vector<Directive>& all, size_t i) {
  if (i + 1 >= all.size() || all[i + 1].keyword() != "define") return std::nullopt;
  const Tokens asks = all[i].rest(), defines = all[i + 1].rest();
  const bool negated = all[i].keyword() == "ifndef" || (all[i].keyword() == "if" && !asks.empty() && asks[0].is("!"));
  if (const auto asked = names_in(asks); !negated || asked.size() != 1 || !asked.contains(all[i + 1].name()))
    return std::nullopt;
  std::string value;
  for (auto& token : defines.subspan(1)) value += (token.spaced && !value.empty() ? " " : "") + token.text;
  return std::pair(all[i + 1].name(), value);
}

}  // namespace

void TestedMacros::look_at(std::string_view text, uint32_t begin, uint32_t end) {
  const Directives read(text);
  const std::vector<Directive>& all = read.all();
  const std::set<std::string> used = names_in(read.lines(begin, end));
  std::vector<std::set<std::string>> open;  // What each conditional around the present line asks for.
  bool inside = false;
  auto enter = [&] {
    for (auto& around : open) names.insert(around.begin(), around.end());
    inside = true;
  };
  for (size_t i = 0; i < all.size() && all[i].line <= end; ++i) {
    if (!inside && all[i].line >= begin) enter();
    if (all[i].keyword() == "define") defined.insert(all[i].name());
    if (all[i].opens()) open.emplace_back();
    if (auto own = defined_if_undefined(all, i)) {  // A header's own guard, or a macro's default.
      if (i + 2 < all.size() && all[i + 2].keyword() == "endif" && used.contains(own->first)) by_default.insert(*own);
    } else if (all[i].asks() && !open.empty()) {
      open.back().merge(names_in(all[i].rest()));
      if (inside) names.insert(open.back().begin(), open.back().end());
    }
    if (all[i].keyword() == "endif" && !open.empty()) open.pop_back();
  }
  if (!inside) enter();
}

void TestedMacros::add_definitions_below(const std::filesystem::path& root) {
  static const std::set<std::string> sources = {".h", ".hh", ".hpp", ".hxx", ".cuh", ".inl", ".inc",
                                                ".c", ".cc", ".cpp", ".cxx", ".cu",  ".in",  ".hip"};
  constexpr size_t kMostEntries = 200'000;  // Of a folder with much else.
  constexpr uintmax_t kLargest = 4 << 20;
  size_t entries = 0;
  std::error_code code;
  using Iterator = std::filesystem::recursive_directory_iterator;
  for (Iterator at(root, std::filesystem::directory_options::skip_permission_denied, code), end;
       !code && at != end && ++entries < kMostEntries; at.increment(code)) {
    if (at->path().filename().string().starts_with(".")) {
      at.disable_recursion_pending();
      continue;
    }
    if (!sources.contains(at->path().extension().string()) || !at->is_regular_file(code) ||
        at->file_size(code) > kLargest)
      continue;
    auto text = read_text(at->path());
    if (!text.ok()) continue;
    const Directives read(*text);
    for (auto& directive : read.all())
      if (directive.keyword() == "define") defined.insert(directive.name());
  }
}

}  // namespace kernelift::reintegrate
