// A place for #undef is the end of a line behind the last use at which every bracket and conditional that was opened
// since the definition is closed: the directive is then neither among a macro's arguments nor in a conditional that
// another build skips.
#include "reintegrate/patch/constants/macro_scope.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/compiler/written/source_tokens.h"

namespace kernelift::reintegrate {
namespace {

using Tokens = std::vector<SourceToken>;

struct NewMacro {
  std::string name;
  DirectiveTokens definition;
  size_t body = 0;      ///< Index of the first token of its body.
  size_t last_use = 0;  ///< Index of the last token that uses it; its definition's last if there is none.
};

std::set<std::string> defined_in(const Tokens& tokens) {
  std::set<std::string> names;
  for (auto& directive : directives(tokens))
    if (directive.begin < directive.end && tokens[directive.begin].is("define"))
      names.insert(macro_text(tokens, directive).name);
  return names;
}

std::vector<NewMacro> new_macros(const Tokens& original, const Tokens& candidate) {
  std::vector<NewMacro> found;
  std::set<std::string> own = defined_in(original);
  for (auto& directive : directives(candidate)) {
    if (directive.begin == directive.end || !candidate[directive.begin].is("define")) continue;
    MacroText macro = macro_text(candidate, directive);
    if (!own.contains(macro.name)) found.push_back({macro.name, directive, macro.body, directive.end - 1});
  }
  return found;
}

void find_last_uses(const Tokens& tokens, std::vector<NewMacro>& macros) {
  auto inside = [&](size_t token) {
    return std::ranges::find_if(
        macros, [&](auto& macro) { return macro.definition.begin <= token && token < macro.definition.end; });
  };
  // Uses in a new macro's body happen where that macro is used, so the text's own uses come first.
  for (auto& macro : macros)
    for (size_t i = macro.definition.end; i < tokens.size(); ++i)
      if (tokens[i].text == macro.name && inside(i) == macros.end()) macro.last_use = i;
  for (bool again = true; again;) {
    again = false;
    for (auto& by : macros)
      for (size_t i = by.body; i < by.definition.end; ++i)
        for (auto& macro : macros) {
          if (tokens[i].text != macro.name || macro.last_use >= by.last_use) continue;
          macro.last_use = by.last_use, again = true;
        }
  }
}

/// Brackets and conditionals that are open behind a token.
struct Depth {
  int brackets = 0, braces = 0, conditionals = 0;
};

std::vector<Depth> depths(const Tokens& tokens) {
  std::vector<Depth> all(tokens.size());
  std::vector<bool> in_directive(tokens.size());
  Depth now;
  auto all_directives = directives(tokens);
  auto next = all_directives.begin();
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (next != all_directives.end() && i == next->begin) {
      const std::string& name = tokens[i].text;
      now.conditionals += name.starts_with("if") ? 1 : name == "endif" ? -1 : 0;
    }
    bool directive = next != all_directives.end() && i >= next->begin && i < next->end;
    if (!directive && tokens[i].kind == SourceToken::Kind::Punctuation) {
      const std::string& text = tokens[i].text;
      now.brackets += text == "(" || text == "[" ? 1 : text == ")" || text == "]" ? -1 : 0;
      now.braces += text == "{" ? 1 : text == "}" ? -1 : 0;
    }
    all[i] = now;
    if (next != all_directives.end() && i + 1 >= next->end) ++next;
  }
  return all;
}

/// Offset of the line after token `at`, if that line can hold a directive; npos if not.
size_t line_after(const std::string& text, const Tokens& tokens, size_t at) {
  if (at + 1 < tokens.size() && !tokens[at + 1].starts_line) return text.npos;
  size_t end = std::min(text.find('\n', tokens[at].end), text.size());
  std::string_view rest = std::string_view(text).substr(tokens[at].end, end - tokens[at].end);
  if (rest.find("/*") != rest.npos || rest.find('\\') != rest.npos) return text.npos;
  return std::min(end + 1, text.size());
}

}  // namespace

Result<ScopedMacros> scope_macros(const std::string& original, const std::string& candidate) {
  ScopedMacros scoped{candidate, {}};
  const Tokens tokens = source_tokens(candidate);
  std::vector<NewMacro> macros = new_macros(source_tokens(original), tokens);
  if (macros.empty()) return scoped;
  find_last_uses(tokens, macros);
  const std::vector<Depth> depth = depths(tokens);
  std::map<size_t, std::string> inserted;  // By offset; the macro that was defined last ends first.
  for (auto macro = macros.rbegin(); macro != macros.rend(); ++macro) {
    scoped.names.push_back(macro->name);
    const Depth& begin = depth[macro->definition.begin];
    size_t place = candidate.npos;
    for (size_t i = macro->last_use; i < tokens.size() && place == candidate.npos; ++i) {
      bool closed = depth[i].brackets <= begin.brackets && depth[i].braces <= begin.braces &&
                    depth[i].conditionals <= begin.conditionals;
      if (closed) place = line_after(candidate, tokens, i);
    }
    if (place == candidate.npos)
      return refused("the macro '" + macro->name + "' of the candidate could not be undefined behind its last use");
    inserted[place] += "#undef " + macro->name + "\n";
  }
  for (auto insertion = inserted.rbegin(); insertion != inserted.rend(); ++insertion) {
    bool open_line = insertion->first > 0 && candidate[insertion->first - 1] != '\n';
    scoped.text.insert(insertion->first, (open_line ? "\n" : "") + insertion->second);
  }
  return scoped;
}

Status check_scopes(const ScopedMacros& macros, const SourcePatch& patch) {
  for (auto& name : macros.names) {
    int open = 0;
    for (auto& change : patch.changes) {
      const Tokens tokens = source_tokens(change.after);
      int here = 0;
      for (auto& directive : directives(tokens)) {
        if (directive.begin + 1 >= directive.end || tokens[directive.begin + 1].text != name) continue;
        here += tokens[directive.begin].is("define") ? 1 : tokens[directive.begin].is("undef") ? -1 : 0;
      }
      open += here == 0 ? 0 : 1;
    }
    if (open != 0)
      return refused("the macro '" + name +
                     "' of the candidate is defined in one file of the application and used in another: it would stay "
                     "defined behind the kernel");
  }
  return done();
}

}  // namespace kernelift::reintegrate
