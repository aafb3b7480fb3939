// A declaration is read up to its end, and in it the names in front of what can only follow a declarator. What is taken
// for a name too many is a false refusal of a name that the unit has, and the reverse would be a silent one.
#include "core/compiler/written/introduced_names.h"

#include <algorithm>

#include "core/compiler/written/source_tokens.h"
#include "core/compiler/written/written_text.h"

namespace kernelift {
namespace {

using Tokens = std::vector<SourceToken>;
using Kind = SourceToken::Kind;

/// "operator+" for the tokens at `at`; empty for conversions and literals, whose names hold words.
std::string operator_at(const Tokens& tokens, size_t at) {
  if (!tokens[at].is("operator")) return {};
  std::string name = "operator";
  size_t next = at + 1;
  if (next + 1 < tokens.size() && tokens[next].is("(") && tokens[next + 1].is(")")) return "operator()";
  while (next < tokens.size() && tokens[next].kind == Kind::Punctuation && !tokens[next].is("("))
    name += tokens[next++].text;
  return name.size() > 8 ? name : std::string();
}

class Scopes {
 public:
  explicit Scopes(const Tokens& all) {
    size_t begin = 0;
    for (auto& directive : directives(all)) {
      std::copy(all.begin() + static_cast<ptrdiff_t>(begin), all.begin() + static_cast<ptrdiff_t>(directive.begin) - 1,
                std::back_inserter(tokens_));
      begin = directive.end;
    }
    std::copy(all.begin() + static_cast<ptrdiff_t>(begin), all.end(), std::back_inserter(tokens_));
  }
  std::set<std::string> run() {
    while (at_ < tokens_.size()) read_declaration();
    return std::move(declared_);
  }
  struct Function {
    std::string name;
    size_t begin = 0;  ///< Its offset.
  };
  /// Of the device, that other files could link. EXPECTS: run().
  const std::vector<Function>& global_functions() const { return global_functions_; }

 private:
  bool is(size_t i, std::initializer_list<const char*> words) const {
    return i < tokens_.size() && std::ranges::any_of(words, [&](auto* word) { return tokens_[i].is(word); });
  }
  /// Past the bracket that closes the one at `open`.
  size_t past(size_t open) const {
    int depth = 0;
    for (size_t i = open; i < tokens_.size(); ++i) {
      depth += is(i, {"(", "[", "{"}) ? 1 : is(i, {")", "]", "}"}) ? -1 : 0;
      if (depth == 0) return i + 1;
    }
    return tokens_.size();
  }
  /// Past the arguments of a template that begin at `open`.
  size_t past_angles(size_t open) const {
    int depth = 0;
    for (size_t i = open; i < tokens_.size();) {
      if (is(i, {"(", "[", "{"})) {
        i = past(i);
        continue;
      }
      if (is(i, {";", "}"})) return i;
      depth += is(i, {"<"}) ? 1 : is(i, {">"}) ? -1 : is(i, {">>"}) ? -2 : 0;
      ++i;
      if (depth <= 0) return i;
    }
    return tokens_.size();
  }
  size_t past_until(size_t i, std::initializer_list<const char*> ends) const {
    while (i < tokens_.size() && !is(i, ends)) i = is(i, {"(", "[", "{"}) ? past(i) : i + 1;
    return i;
  }
  void declare(size_t i) {
    const SourceToken& token = tokens_[i];
    if (token.kind == Kind::Identifier && !is_keyword(token.text) && !is_reserved_word(token.text) &&
        !is(i, {"final", "override"}) && !(i > 0 && is(i - 1, {"::", ".", "->"})))
      declared_.insert(token.text);
  }

  void read_declaration() {
    bool is_type = false, is_enum = false, has_parameters = false, of_device = false, is_local = false;
    const size_t begin = is(at_, {"["}) ? past(at_) : at_;  // Attributes stand in front of specifiers.
    while (at_ < tokens_.size()) {
      of_device |= is(at_, {"__device__"});
      is_local |= is(at_, {"static", "inline", "__inline__", "__forceinline__", "constexpr", "consteval", "template",
                           "extern", "friend", "__global__", "__host__"});
      if (is(at_, {";", "}"})) return void(++at_);  // "}": of a namespace, whose declarations were read in it.
      if (is(at_, {"namespace"})) return read_namespace();
      if (is(at_, {"extern"}) && at_ + 2 < tokens_.size() && tokens_[at_ + 1].kind == Kind::String &&
          is(at_ + 2, {"{"}))
        return void(at_ += 3);
      if (is(at_, {"using"})) {
        if (is(at_ + 2, {"="})) declare(at_ + 1);
        return void(at_ = past_until(at_, {";"}));
      }
      if (is(at_, {"struct", "class", "union"})) is_type = true;
      if (is(at_, {"enum"})) is_enum = true;
      if (is(at_, {"operator"})) {
        if (auto name = operator_at(tokens_, at_); !name.empty()) {
          declared_.insert(name);
          if (of_device && !is_local && !is_type && !(at_ > 0 && is(at_ - 1, {"::"})))
            global_functions_.push_back({name, tokens_[begin].offset}), is_local = true;
        }
        at_ = past_until(at_ + 1, {"("});
        continue;
      }
      if (is(at_, {"<"})) {
        at_ = past_angles(at_);
      } else if (is(at_, {"("})) {
        const bool named = at_ > 0 && tokens_[at_ - 1].kind == Kind::Identifier && !is_keyword(tokens_[at_ - 1].text) &&
                           !is_reserved_word(tokens_[at_ - 1].text);
        if (named && !has_parameters && of_device && !is_local && !is_type && !(at_ > 1 && is(at_ - 2, {"::"})))
          global_functions_.push_back({tokens_[at_ - 1].text, tokens_[begin].offset});
        has_parameters |= at_ > 0 && !is_keyword(tokens_[at_ - 1].text) && !is_reserved_word(tokens_[at_ - 1].text);
        at_ = past(at_);
      } else if (is(at_, {"["})) {
        at_ = past(at_);
      } else if (is(at_, {"="})) {
        at_ = past_until(at_, {",", ";"});
      } else if (is(at_, {"->", ":"})) {
        at_ = past_until(at_, {";", "{"});
      } else if (is(at_, {"{"})) {
        if (is_enum) read_enumerators();
        const bool goes_on = (is_type || is_enum) && !has_parameters;
        at_ = past(at_);
        if (!goes_on) return;
      } else {
        if (is(at_ + 1, {"(", "=", "[", ";", ",", "{", ":"})) declare(at_);
        // What is declared as a template's own specialisation.
        if (is(at_ + 1, {"<"}) && !is(at_, {"template"}) && is_type) declare(at_);
        ++at_;
      }
    }
  }
  void read_namespace() {
    for (++at_; at_ < tokens_.size() && !is(at_, {"{", ";", "="}); ++at_) declare(at_);
    at_ = is(at_, {"="}) ? past_until(at_, {";"}) : at_ + 1;
  }
  void read_enumerators() {
    const size_t end = past(at_);
    for (size_t i = at_ + 1; i + 1 < end; ++i) {
      declare(i);
      i = past_until(i, {",", "}"});
    }
  }

  Tokens tokens_;
  size_t at_ = 0;
  std::set<std::string> declared_;
  std::vector<Function> global_functions_;
};

}  // namespace

std::set<std::string> words_of(std::string_view text) {
  std::set<std::string> words;
  Tokens tokens = source_tokens(text);
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].kind == Kind::Identifier) words.insert(tokens[i].text);
    if (auto name = operator_at(tokens, i); !name.empty()) words.insert(name);
  }
  return words;
}

std::set<std::string> macros_of(std::string_view text) {
  std::set<std::string> names;
  Tokens tokens = source_tokens(text);
  for (auto& directive : directives(tokens))
    if (directive.begin < directive.end && tokens[directive.begin].is("define"))
      names.insert(macro_text(tokens, directive).name);
  return names;
}

IntroducedNames introduced_names(std::string_view own, std::string_view changed) {
  const std::set<std::string> known = words_of(own);
  IntroducedNames names;
  const Tokens tokens = source_tokens(changed);
  for (auto& token : tokens)
    if (token.kind == Kind::Identifier && !known.contains(token.text) && !is_keyword(token.text) &&
        !is_device_word(token.text))
      names.words.insert(token.text);
  for (auto& name : Scopes(tokens).run())
    if (!known.contains(name)) names.declared.insert(name);
  return names;
}

std::string with_static_functions(std::string_view own, std::string_view changed) {
  static constexpr std::string_view kStatic = "static ";
  const std::set<std::string> known = Scopes(source_tokens(own)).run();
  Scopes scopes(source_tokens(changed));
  scopes.run();
  std::string text(changed);
  size_t added = 0;
  for (auto& [name, begin] : scopes.global_functions()) {
    if (known.contains(name)) continue;
    text.insert(begin + added, kStatic);
    added += kStatic.size();
  }
  return text;
}

std::string first_clash(const IntroducedNames& names, const std::set<std::string>& unit_words,
                        const std::set<std::string>& unit_macros) {
  for (auto& name : names.words)
    if (unit_macros.contains(name) && !is_free_macro(name))
      return "the candidate uses the name '" + name + "', which is a macro there";
  for (auto& name : names.declared)
    if (unit_words.contains(name)) return "the candidate declares '" + name + "', a name that is used there";
  return {};
}

}  // namespace kernelift
