// See launch_text.h.
#include "reintegrate/patch/launch/launch_text.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "core/base/words.h"

namespace kernelift::reintegrate {

static std::string without_comments(std::string_view text) {
  std::string rest;
  for (size_t at = 0; at < text.size();) {
    const size_t past = past_quoted(text, at);
    if (past == at || text[at] != '/') rest += text.substr(at, std::max(past, at + 1) - at);
    at = std::max(past, at + 1);
  }
  return rest;
}

static size_t top_level_comma(std::string_view text) {
  int depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    // The arguments of a template: `up<1, 32>(n)`.
    if (text[at] == '<' && at > 0 && word_character(text[at - 1])) {
      const size_t end = text.find_first_of("<>();", at + 1);
      if (end != text.npos && text[end] == '>' && text.substr(end + 1).starts_with('(')) at = end;
    }
    depth += std::strchr("([{", text[at]) ? 1 : std::strchr(")]}", text[at]) ? -1 : 0;
    if (depth == 0 && text[at] == ',') return at;
  }
  return text.npos;
}

bool is_number(std::string_view text, std::string_view form) {
  if (text.empty() || !form.empty()) return form == "number";
  if (text.find_first_not_of("0123456789uU") == text.npos) return true;
  int depth = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    depth += std::strchr("([{", text[at]) ? 1 : std::strchr(")]}", text[at]) ? -1 : 0;
    if (depth == 0 && at > 0 && std::strchr("+-*/%", text[at]) && !(text[at] == '-' && text.substr(at, 2) == "->"))
      return true;
  }
  return false;
}

std::string without_brackets(std::string_view text) {
  std::string rest;
  for (char c : text)
    if (!std::isspace(static_cast<unsigned char>(c)) && c != '(' && c != ')') rest += c;
  return rest;
}

std::string inside_dim3(std::string_view text) {
  if (!text.starts_with("dim3(") || closing_bracket(text, 4) != text.size() - 1) return std::string(text);
  return without_outer_blanks(without_comments(text.substr(5, text.size() - 6)));
}

std::vector<std::string> dim3_arguments(std::string_view text) {
  const std::string inside = inside_dim3(text);
  if (inside == text) return {};
  std::string_view rest = inside;
  std::vector<std::string> parts;
  for (;;) {
    size_t comma = top_level_comma(rest);
    std::string_view part = rest.substr(0, comma);
    while (!part.empty() && std::isspace(static_cast<unsigned char>(part.front()))) part.remove_prefix(1);
    while (!part.empty() && std::isspace(static_cast<unsigned char>(part.back()))) part.remove_suffix(1);
    parts.emplace_back(part);
    if (comma == rest.npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (parts.size() == 1 && !is_number(parts[0], {})) return {};
  return parts;
}

}  // namespace kernelift::reintegrate
