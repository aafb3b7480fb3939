// Everything is compared as tokens: a prefix of a word, or a word in other white space, decides nothing. What is not
// listed as harmless is a construct, so that a directive or attribute of a later compiler is one too.
#include "core/compiler/written/written_text.h"

#include <algorithm>
#include <optional>

#include "core/compiler/written/source_tokens.h"

namespace kernelift {
namespace {

using Tokens = std::vector<SourceToken>;
using Kind = SourceToken::Kind;

bool is_any(const SourceToken& token, std::initializer_list<const char*> words) {
  return std::ranges::any_of(words, [&](auto* word) { return token.is(word); });
}

/// Attributes that neither move code to another place nor change what other code means. Names without their
/// underscores.
bool is_free_attribute(std::string name) {
  static const std::set<std::string> kFree = {"aligned",       "always_inline", "noinline", "unused",
                                              "maybe_unused",  "nodiscard",     "likely",   "unlikely",
                                              "fallthrough",   "launch_bounds", "restrict", "warn_unused_result",
                                              "device",        "global",        "shared",   "constant",
                                              "grid_constant", "hot",           "cold",     "flatten"};
  if (name.size() > 4 && name.starts_with("__") && name.ends_with("__")) name = name.substr(2, name.size() - 4);
  return kFree.contains(name);
}

/// Words beside the reserved ones that are another thing to the next compiler, or in another place.
bool is_value(const SourceToken& token) {
  return is_any(token, {"typeid", "source_location", "CUDART_VERSION", "CUDA_VERSION", "linux", "unix"});
}

/// Index past the bracket that closes the one at `open`; the end if there is none.
size_t past_brackets(const Tokens& tokens, size_t open, size_t end) {
  int depth = 0;
  for (size_t i = open; i < end; ++i) {
    depth += is_any(tokens[i], {"(", "[", "{"}) ? 1 : is_any(tokens[i], {")", "]", "}"}) ? -1 : 0;
    if (depth == 0) return i + 1;
  }
  return end;
}

/// True if all of [begin, end), a list of attributes with commas between, is free.
bool are_free_attributes(const Tokens& tokens, size_t begin, size_t end) {
  for (size_t i = begin; i < end;) {
    if (tokens[i].is(",")) {
      ++i;
      continue;
    }
    std::string name = tokens[i].text;
    if (tokens[i].kind != Kind::Identifier) return false;
    if (++i + 1 < end && tokens[i].is("::")) {
      if (name != "gnu" && name != "clang") return false;
      name = tokens[i + 1].text, i += 2;
    }
    if (!is_free_attribute(name)) return false;
    if (i < end && tokens[i].is("(")) i = past_brackets(tokens, i, end);
    if (i < end && !tokens[i].is(",")) return false;
  }
  return true;
}

/// True if [begin, end) is an expression that can only be a number: names, numbers, operators, brackets.
bool is_plain_expression(const Tokens& tokens, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i)
    if (tokens[i].kind != Kind::Number && tokens[i].kind != Kind::Identifier &&
        !is_any(tokens[i], {"(", ")", "+", "-", "*", "/", "%", "<<", ">>", "?", ":", "<", ">", "<=", ">=", "==", "::"}))
      return false;
  return true;
}

/// True if [begin, end) is a row of `word(…)`, each word one of `words`.
bool are_options(const Tokens& tokens, size_t begin, size_t end, std::initializer_list<const char*> words) {
  if (begin == end) return false;
  for (size_t i = begin; i < end;) {
    if (!is_any(tokens[i], words) || i + 1 >= end || !tokens[i + 1].is("(")) return false;
    size_t past = past_brackets(tokens, i + 1, end);
    if (!tokens[past - 1].is(")") || !is_plain_expression(tokens, i + 2, past - 1)) return false;
    i = past;
  }
  return true;
}

/// Pragmas that only advise the optimiser or silence a warning: [begin, end) is what follows `pragma`.
bool is_free(const Tokens& tokens, size_t begin, size_t end) {
  if (begin >= end) return false;
  auto word = [&](size_t i, const char* text) { return begin + i < end && tokens[begin + i].is(text); };
  const size_t count = end - begin;
  if (word(0, "nounroll")) return count == 1;
  if (word(0, "unroll")) return is_plain_expression(tokens, begin + 1, end);
  if (word(0, "GCC") && word(1, "unroll")) return count == 3 && tokens[begin + 2].kind == Kind::Number;
  if (word(0, "GCC") && word(1, "ivdep")) return count == 2;
  if (word(0, "STDC") && word(1, "FP_CONTRACT"))
    return count == 3 && is_any(tokens[begin + 2], {"ON", "OFF", "DEFAULT"});
  if (word(0, "clang") && word(1, "loop"))
    return are_options(tokens, begin + 2, end,
                       {"unroll", "unroll_count", "vectorize", "vectorize_width", "interleave", "interleave_count",
                        "distribute", "vectorize_predicate", "pipeline", "pipeline_initiation_interval"});
  if (word(0, "clang") && word(1, "fp"))
    return are_options(tokens, begin + 2, end, {"contract", "reassociate", "reciprocal"});
  if (is_any(tokens[begin],
             {"nv_diag_suppress", "nv_diag_default", "nv_diag_warning", "nv_diag_remark", "nv_diag_once"}))
    return count > 1 &&
           std::all_of(tokens.begin() + static_cast<ptrdiff_t>(begin) + 1, tokens.begin() + static_cast<ptrdiff_t>(end),
                       [](auto& token) { return token.kind == Kind::Number || token.is(","); });
  return false;
}

/// The text of a string literal, as _Pragma reads it; nothing for other literals.
std::optional<std::string> unquoted(const std::string& literal) {
  size_t open = literal.find('"');
  if (open == literal.npos || literal.size() < open + 2 || literal.find('R') < open) return std::nullopt;
  std::string text;
  for (size_t i = open + 1; i + 1 < literal.size(); ++i) {
    if (literal[i] == '\\' && (literal[i + 1] == '"' || literal[i + 1] == '\\')) ++i;
    text += literal[i];
  }
  return text;
}

class Reading {
 public:
  explicit Reading(std::string_view text) : text_(text) {
    // What follows the text must be read as if the text were not there: a comment, literal or line that is left open
    // would take it along.
    tokens_ = source_tokens(std::string(text) + "\n;");
    bool closed = !tokens_.empty() && tokens_.back().is(";") && tokens_.back().starts_line &&
                  tokens_.back().offset == text.size() + 1;
    if (closed) tokens_.pop_back();
    else add("unknown-token", "a comment or literal that is not closed", 1);
  }

  std::vector<WrittenConstruct> run() {
    read_bytes();
    read_comments();
    all_ = directives(tokens_);
    for (auto& directive : all_)
      if (directive.begin + 1 < directive.end && tokens_[directive.begin].is("define"))
        macros_.insert(tokens_[directive.begin + 1].text);
    for (auto& directive : all_) read_directive(directive);
    if (!open_.empty()) add("conditional", "a conditional without its #endif", open_.back());
    for (size_t i = 0; i < tokens_.size(); ++i) read_token(i);
    read_instantiations();
    return std::move(found_);
  }

 private:
  void add(const char* rule, std::string text, unsigned line) { found_.push_back({rule, std::move(text), line}); }
  void add(const char* rule, size_t begin, size_t end) { add(rule, joined(tokens_, begin, end), tokens_[begin].line); }

  /// Spellings that one compiler reads as another text than the next does.
  void read_bytes() {
    unsigned line = 1;
    for (size_t i = 0; i < text_.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text_[i]);
      auto next = [&](size_t ahead) { return i + ahead < text_.size() ? text_[i + ahead] : '\0'; };
      if (byte == '?' && next(1) == '?' && std::string_view("=/'()!<>-").find(next(2)) != std::string_view::npos &&
          next(2) != '\0')
        add("trigraph", std::string(text_.substr(i, 3)), line);
      if ((byte < ' ' && byte != '\t' && byte != '\n' && !(byte == '\r' && next(1) == '\n')) || byte == 127)
        add("character", "a control character (" + std::to_string(byte) + ")", line);
      // U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069 change the order in which a reader sees the text.
      if (byte == 0xE2) {
        auto two = static_cast<unsigned char>(next(1)), three = static_cast<unsigned char>(next(2));
        bool mark = two == 0x80 && (three == 0x8E || three == 0x8F || (three >= 0xAA && three <= 0xAE));
        if (mark || (two == 0x81 && three >= 0xA6 && three <= 0xA9))
          add("character", "a mark that reverses the direction of text", line);
      }
      if (byte == '\\') {
        size_t end = i + 1;
        while (end < text_.size() && std::string_view(" \t\v\f").find(text_[end]) != std::string_view::npos) ++end;
        bool ends_line = end == text_.size() || text_[end] == '\n' || text_.substr(end).starts_with("\r\n");
        if (ends_line && end > i + 1)
          add("splice", "a backslash with white space after it, at the end of a line", line);
        if (ends_line && text_.find_first_not_of(" \t\v\f\r\n", end) == text_.npos)
          add("splice", "a backslash at the end of the text", line);
      }
      line += byte == '\n';
    }
  }

  /// A comment to the end of its line that goes on in the next line: in a patch that may be another line.
  void read_comments() {
    for (auto& comment : source_comments(text_))
      if (comment.text.starts_with("//") && comment.text.find('\n') != std::string::npos)
        add("splice", comment.text.substr(0, comment.text.find('\n')), comment.line);
  }

  void read_directive(const DirectiveTokens& directive) {
    auto [begin, end] = directive;
    if (begin == end) return;
    const SourceToken& name = tokens_[begin];
    if (is_any(name, {"if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif"}))
      return read_conditional(directive);
    if (name.is("define")) return read_macro(directive);
    if (name.is("pragma")) {
      if (!is_free(tokens_, begin + 1, end)) add("pragma", begin, end);
      return;
    }
    bool numbered = name.kind == Kind::Number || name.is("line");
    add(is_any(name, {"include", "include_next", "import", "__include_macros"}) ? "include"
        : name.is("embed")                                                      ? "embed"
        : name.is("undef")                                                      ? "undef"
        : numbered                                                              ? "line"
                                                                                : "directive",
        begin, end);
  }

  /// A condition asks what the text itself defines, or whether it is device code. What only one compiler defines would
  /// show another text to the next one, what a header or the build defines another text to the application, and the
  /// number of an architecture a text that nobody judged to the others that the application is built for.
  void read_conditional(const DirectiveTokens& directive) {
    const SourceToken& name = tokens_[directive.begin];
    if (name.text.starts_with("if")) open_.push_back(name.line);
    else if (open_.empty()) add("conditional", "#" + name.text + " without its #if", name.line);
    else if (name.is("endif")) open_.pop_back();
    if (is_any(name, {"else", "endif"})) return;
    const bool asks_whether = is_any(name, {"ifdef", "ifndef", "elifdef", "elifndef"});
    auto is_whether = [&](size_t i) {  // `defined X`, `defined(X)`
      return asks_whether || tokens_[i - 1].is("defined") || (tokens_[i - 1].is("(") && tokens_[i - 2].is("defined"));
    };
    for (size_t i = directive.begin + 1; i < directive.end; ++i)
      if (tokens_[i].kind == Kind::Identifier && !tokens_[i].text.starts_with("__has_") &&
          !is_any(tokens_[i], {"defined", "true", "false", "and", "or", "not"}) &&
          !(tokens_[i].is("__CUDA_ARCH__") && is_whether(i)) && !macros_.contains(tokens_[i].text))
        return add("conditional", directive.begin, directive.end);
  }

  void read_macro(const DirectiveTokens& directive) {
    MacroText macro = macro_text(tokens_, directive);
    WrittenConstruct made{"macro", macro.text, tokens_[directive.begin].line, macro.name, macro.numeric, {}};
    const std::string& name = macro.name;
    if (name.empty() || name[0] == '_' || name.find("__") != name.npos || is_keyword(name) || name == "main" ||
        name == "defined")
      made.why = "'" + name + "' is a name that C++ reserves";
    for (size_t i = 0; i < directive.begin && made.why.empty(); ++i)
      if (tokens_[i].kind == Kind::Identifier && tokens_[i].text == name)
        made.why = "'" + name + "' occurs before its definition";
    for (size_t i = macro.body; i < directive.end; ++i)
      if (is_any(tokens_[i], {"##", "#", "#@"}))
        made.why = "its body makes names or texts of its parts (" + tokens_[i].text + ")";
    found_.push_back(std::move(made));
  }

  void read_token(size_t at) {
    const SourceToken& token = tokens_[at];
    auto next_is = [&](size_t ahead, const char* text) {
      return at + ahead < tokens_.size() && tokens_[at + ahead].is(text);
    };
    if (token.kind == Kind::Unknown) return add("unknown-token", token.text.substr(0, 40), token.line);
    if (token.kind == Kind::String && token.text.find('\n') != std::string::npos)
      return add("raw-string", token.text.substr(0, token.text.find('\n')), token.line);
    if (token.is("[") && next_is(1, "[")) {
      size_t end = past_brackets(tokens_, at, tokens_.size());
      if (end < at + 4 || !are_free_attributes(tokens_, at + 2, end - 2)) add("attribute", at, end);
      return;
    }
    if (token.kind != Kind::Identifier) return;
    if (token.odd) return add("identifier", token.text, token.line);
    if (token.is("_Pragma") || token.is("__pragma")) return read_pragma_operator(at);
    if (is_any(token, {"__attribute__", "__attribute"})) {
      size_t end = next_is(1, "(") ? past_brackets(tokens_, at + 1, tokens_.size()) : at + 1;
      bool doubled = next_is(2, "(") && end >= at + 5;
      if (!doubled || !are_free_attributes(tokens_, at + 3, end - 2)) add("attribute", at, end);
    }
    if (token.is("__declspec"))
      add("attribute", at, next_is(1, "(") ? past_brackets(tokens_, at + 1, tokens_.size()) : at + 1);
    if (token.text.starts_with("__has_")) add("probe", at, std::min(at + 8, tokens_.size()));
    else read_word(at);
    if (token.starts_line &&
        (is_any(token, {"import", "module"}) || (token.is("export") && (next_is(1, "import") || next_is(1, "module")))))
      add("module", at, std::min(at + 4, tokens_.size()));
    if (token.is("extern") && at + 1 < tokens_.size() && tokens_[at + 1].kind == Kind::String) {
      size_t end = at + 2;
      while (end < tokens_.size() && !is_any(tokens_[end], {"(", "{", ";", "="})) ++end;
      add("linkage", at, end);
    }
  }

  /// A word that is known to no device code, and may be anything. As a value it stands where it stood: with the
  /// statement around it, since the own text may write the word where it decides nothing.
  void read_word(size_t at) {
    const SourceToken& token = tokens_[at];
    const bool reserved = is_reserved_word(token.text);
    if (!is_value(token) && (!reserved || is_device_word(token.text) || is_like_an_intrinsic(token.text))) return;
    // A macro of the text is what its definition says, which is read as well.
    if (macros_.contains(token.text)) return;
    const bool spelled_as_type = !token.text.ends_with("__") && !token.text.starts_with("__builtin_") &&
                                 std::ranges::any_of(token.text, [](char c) { return c >= 'a' && c <= 'z'; });
    if (reserved && spelled_as_type) return add("reserved", token.text, token.line);
    auto inside = std::ranges::find_if(all_, [&](auto& one) { return one.begin <= at && at < one.end; });
    size_t begin = at, end = at + 1;
    if (inside != all_.end()) begin = inside->begin, end = inside->end;
    auto ends = [&](size_t i) { return is_any(tokens_[i], {";", "{", "}"}); };
    if (inside == all_.end()) {
      while (begin > 0 && !ends(begin - 1)) --begin;
      while (end < tokens_.size() && !ends(end)) ++end;
    }
    add("value", token.text + "\n" + joined(tokens_, begin, end), token.line);
  }

  /// `template` without parameters makes code of a template, for the host too; behind `.`, `->` and `::` it only names
  /// a member. Of a kernel the host gets a stub, as of any other; clang refuses this word for what is no kernel. Tokens
  /// of a directive and of the lines around it are not neighbours.
  void read_instantiations() {
    auto all = directives(tokens_);
    size_t begin = 0;
    for (size_t next = 0; begin < tokens_.size();) {
      const bool inside = next < all.size() && all[next].begin == begin;
      const size_t end = inside ? all[next].end : next < all.size() ? all[next].begin : tokens_.size();
      for (size_t i = begin; i < end; ++i) {
        if (!tokens_[i].is("template") || (i + 1 < end && is_any(tokens_[i + 1], {"<", "__global__"}))) continue;
        if (i > begin && is_any(tokens_[i - 1], {".", "->", "::"})) continue;
        size_t past = i + 1;
        while (past < end && !is_any(tokens_[past], {";", "{", "}"})) ++past;
        add("instantiation", i, past);
      }
      next += inside, begin = end;
    }
  }

  void read_pragma_operator(size_t at) {
    size_t end =
        at + 1 < tokens_.size() && tokens_[at + 1].is("(") ? past_brackets(tokens_, at + 1, tokens_.size()) : at + 1;
    bool one_string = tokens_[at].is("_Pragma") && end == at + 4 && tokens_[at + 2].kind == Kind::String;
    auto text = one_string ? unquoted(tokens_[at + 2].text) : std::nullopt;
    if (!text || !is_free_pragma(*text)) add("pragma", at, end);
  }

  std::string_view text_;
  Tokens tokens_;
  std::vector<WrittenConstruct> found_;
  std::vector<DirectiveTokens> all_;  ///< The directives.
  std::set<std::string> macros_;      ///< Names that the text defines, anywhere.
  std::vector<unsigned> open_;        ///< Lines of the conditionals that are open.
};

/// Constructs that mean something by how often they occur: a second #include of a file is another one.
bool is_counted(const std::string& rule) {
  return rule == "include" || rule == "embed" || rule == "undef" || rule == "line" || rule == "directive" ||
         rule == "macro";
}

std::string number_of(const std::string& name) { return "number\n" + name; }
std::string name_of(const std::string& name) { return "name\n" + name; }
std::string declared_of(const std::string& name) { return "declared\n" + name; }

/// The token names a variable or a parameter where it stands: `int _N,`, `float* _A)`.
bool is_declared(const Tokens& tokens, size_t at) {
  if (at == 0 || at + 1 >= tokens.size() || !is_any(tokens[at + 1], {",", ")", "=", ";", "[", "{"})) return false;
  const size_t before = at > 1 && is_any(tokens[at - 1], {"*", "&"}) ? at - 2 : at - 1;
  return tokens[before].kind == Kind::Identifier && !is_any(tokens[before], {"return", "case", "else", "sizeof"});
}

}  // namespace

std::vector<WrittenConstruct> written_constructs(std::string_view text) { return Reading(text).run(); }

bool is_reserved_word(std::string_view word) {
  return word.size() > 1 && word[0] == '_' && (word[1] == '_' || (word[1] >= 'A' && word[1] <= 'Z'));
}

bool is_device_word(std::string_view word) {
  static const std::set<std::string_view> kWords = {"__syncthreads",
                                                    "__device__",
                                                    "__global__",
                                                    "__host__",
                                                    "__shared__",
                                                    "__constant__",
                                                    "__managed__",
                                                    "__grid_constant__",
                                                    "__launch_bounds__",
                                                    "__cluster_dims__",
                                                    "__maxnreg__",
                                                    "__forceinline__",
                                                    "__noinline__",
                                                    "__inline__",
                                                    "__inline",
                                                    "__restrict__",
                                                    "__restrict",
                                                    "__align__",
                                                    "__attribute__",
                                                    "__attribute",
                                                    "__declspec",
                                                    "__pragma",
                                                    "_Pragma",
                                                    "__asm__",
                                                    "__asm",
                                                    "__volatile__",
                                                    "__VA_ARGS__",
                                                    "__VA_OPT__",
                                                    "__CUDA_ARCH__",
                                                    "__int128",
                                                    "__extension__",
                                                    "__typeof__",
                                                    "_Static_assert",
                                                    "__nv_pure__",
                                                    "_Float16",
                                                    "_Bool",
                                                    "__fp16",
                                                    "__bf16",
                                                    "_BitInt"};
  // Of clang's and GCC's own functions those that compute, and those that are judged when they are parsed or run.
  static const std::set<std::string_view> kBuiltins = {"expect",
                                                       "assume_aligned",
                                                       "bit_cast",
                                                       "memcpy",
                                                       "memset",
                                                       "memmove",
                                                       "prefetch",
                                                       "unreachable",
                                                       "assume",
                                                       "trap",
                                                       "debugtrap",
                                                       "printf",
                                                       "malloc",
                                                       "alloca",
                                                       "nontemporal_load",
                                                       "nontemporal_store",
                                                       "popcount",
                                                       "popcountl",
                                                       "popcountll",
                                                       "clz",
                                                       "clzl",
                                                       "clzll",
                                                       "ctz",
                                                       "ctzl",
                                                       "ctzll",
                                                       "ffs",
                                                       "ffsl",
                                                       "ffsll",
                                                       "fma",
                                                       "fmaf",
                                                       "sqrt",
                                                       "sqrtf",
                                                       "fabs",
                                                       "fabsf",
                                                       "fmin",
                                                       "fminf",
                                                       "fmax",
                                                       "fmaxf",
                                                       "inf",
                                                       "inff",
                                                       "nan",
                                                       "nanf",
                                                       "huge_val",
                                                       "huge_valf",
                                                       "abs",
                                                       "labs",
                                                       "llabs",
                                                       "bswap16",
                                                       "bswap32",
                                                       "bswap64",
                                                       "rotateleft32",
                                                       "rotateright32"};
  constexpr std::string_view kBuiltin = "__builtin_";
  if (word.starts_with(kBuiltin)) return kBuiltins.contains(word.substr(kBuiltin.size()));
  return kWords.contains(word) || is_free_attribute(std::string(word));
}

bool is_like_an_intrinsic(std::string_view word) {
  return word.size() > 3 && word.starts_with("__") && word[2] >= 'a' && word[2] <= 'z' && !word.ends_with('_') &&
         !word.starts_with("__builtin_") &&
         std::ranges::all_of(word, [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

bool is_free_macro(std::string_view name) {
  static const std::set<std::string_view> kNames = {"NULL",     "NAN",   "INFINITY", "HUGE_VAL", "HUGE_VALF",
                                                    "CHAR_BIT", "isnan", "isfinite", "isinf",    "signbit"};
  if (is_device_word(name) || kNames.contains(name)) return true;
  if (name == "FLT_ROUNDS" || name == "FLT_EVAL_METHOD") return false;
  if (name.starts_with("CUDART_"))
    return name.ends_with("_F") || name.find("INF") != name.npos || name.find("PI") != name.npos;
  static const char* const kPrefixes[] = {"M_",     "hip",    "FLT_",    "DBL_",    "INT_",    "UINT_",
                                          "LONG_",  "ULONG_", "LLONG_",  "ULLONG_", "CHAR_",   "SCHAR_",
                                          "UCHAR_", "SHRT_",  "USHRT_",  "INT8_",   "INT16_",  "INT32_",
                                          "INT64_", "UINT8_", "UINT16_", "UINT32_", "UINT64_", "SIZE_"};
  return std::ranges::any_of(kPrefixes, [&](auto* prefix) { return name.starts_with(prefix); });
}

bool is_free_pragma(std::string_view text) {
  Tokens tokens = source_tokens(text);
  bool one_line = std::ranges::none_of(tokens, [&](auto& token) { return &token != &tokens[0] && token.starts_line; });
  return one_line && is_free(tokens, 0, tokens.size());
}

OwnText::OwnText(std::string_view text) {
  std::set<std::string> names;
  const Tokens tokens = source_tokens(text);
  for (size_t at = 0; at < tokens.size(); ++at) {
    if (tokens[at].kind != Kind::Identifier) continue;
    names.insert(name_of(tokens[at].text));
    if (is_reserved_word(tokens[at].text) && is_declared(tokens, at)) names.insert(declared_of(tokens[at].text));
  }
  words_.insert(names.begin(), names.end());
  for (auto& construct : written_constructs(text)) {
    words_.insert(construct.identity());
    if (construct.numeric) words_.insert(number_of(construct.macro));
  }
}

std::string OwnText::first_refusal(const std::vector<WrittenConstruct>& constructs, const std::string& name) const {
  std::multiset<std::string> left = words_;
  std::set<std::string> made;
  for (auto& construct : constructs) {
    auto found = left.find(construct.identity());
    if (found != left.end()) {
      if (is_counted(construct.rule)) left.erase(found);
      continue;
    }
    if (construct.rule == "reserved" && words_.contains(name_of(construct.text))) continue;
    if (construct.rule == "value" && words_.contains(declared_of(construct.text.substr(0, construct.text.find('\n')))))
      continue;
    std::string why = construct.why;
    if (construct.rule == "macro") {
      if (construct.numeric && words_.contains(number_of(construct.macro))) continue;  // Another value.
      if (why.empty() && words_.contains(name_of(construct.macro)))
        why = "'" + construct.macro + "' is a name of the kernel's own source";
      if (why.empty() && !made.insert(construct.macro).second) why = "'" + construct.macro + "' is defined twice";
      if (why.empty()) continue;
    }
    return refusal_text(construct.rule, construct.text, name + ":" + std::to_string(construct.line), why);
  }
  return {};
}

std::string refusal_text(const std::string& rule, const std::string& text, const std::string& place,
                         const std::string& why) {
  constexpr size_t kShown = 80;
  std::string shown = text.substr(0, text.find('\n')).substr(0, kShown);
  return rule + ": '" + shown + "' (" + place + ") " +
         (why.empty() ? "is not in the kernel's own source, and a candidate may add only device code"
                      : "may not be added: " + why);
}

}  // namespace kernelift
