// Canonical keys by demangling and then removing what each compiler adds; see kernel_key.h. Works on demangled text
// because nvcc's, clang's and the host toolchain's mangled names differ.
#include "core/model/kernel_key.h"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <vector>

#include "core/base/words.h"

namespace kernelift {
namespace {

constexpr std::string_view kAnonymous = "(anonymous)::";

/// "__nv_static_23__f24e1562_8_cases_cu_ck__Z2skPi" -> "_Z2skPi": nvcc -rdc=true puts the unit's name and its length in
/// front of names that are local to the unit.
std::string_view without_unit(std::string_view name) {
  constexpr std::string_view kMark = "__nv_static_";
  if (!name.starts_with(kMark)) return name;
  std::string_view rest = name.substr(kMark.size());
  size_t length = 0, digits = 0;
  for (; digits < rest.size() && digits < 6 && std::isdigit(static_cast<unsigned char>(rest[digits])); ++digits)
    length = length * 10 + static_cast<size_t>(rest[digits] - '0');
  size_t begin = digits + 1 + length + 1;  // Past "_UNIT_".
  return digits > 0 && begin < rest.size() && rest[begin - 1] == '_' ? rest.substr(begin) : name;
}

/// Since version 18 clang spells out a template parameter declared with auto: "ITnPDaXadL_Z6targetEEE" is nvcc's
/// "IXadL_Z6targetEEE". Older demanglers know only the latter.
std::string without_auto_parameters(std::string name) {
  for (size_t at = name.find("Tn"); at != std::string::npos; at = name.find("Tn", at + 1)) {
    size_t end = name.find_first_not_of("PROKV", at + 2);
    if (end == std::string::npos || (name.compare(end, 2, "Da") != 0 && name.compare(end, 2, "Dc") != 0)) continue;
    name.erase(at, end + 2 - at);
  }
  return name;
}

/// Removes `__static__…` and `__intern__…` (clang -fgpu-rdc) and the L of a leading `_ZL`, before demangling.
std::string without_linkage_marks(std::string_view mangled) {
  std::string name(without_unit(mangled));
  for (std::string_view mark : {"__intern__", "__static__"})
    if (size_t at = name.find(mark); at != std::string::npos && at > 0) name.resize(at);
  if (name.starts_with("_ZL")) name.erase(2, 1);
  // Inside a nested name L marks internal linkage of a component that is a source name: _ZN1aL1bE -> _ZN1a1bE.
  if (name.starts_with("_ZN"))
    for (size_t i = 3; i + 1 < name.size(); ++i) {
      if (std::isdigit(static_cast<unsigned char>(name[i]))) {
        size_t length = 0;
        for (; i < name.size() && std::isdigit(static_cast<unsigned char>(name[i])); ++i)
          length = std::min<size_t>(length * 10 + static_cast<size_t>(name[i] - '0'), name.size());
        i += length;
        if (i < name.size() && name[i] == 'L' && i + 1 < name.size() &&
            std::isdigit(static_cast<unsigned char>(name[i + 1])))
          name.erase(i, 1);
        --i;
        continue;
      }
      break;
    }
  return name;
}

/// nvcc names an anonymous namespace _GLOBAL__N__<hash>…; the demangler knows only _GLOBAL__N_1.
void reduce_token(std::string& text, std::string_view prefix, std::string_view token) {
  for (size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at + token.size())) {
    text.replace(at, end_of_word(text, at) - at, token);
  }
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// Position of the '(' that opens the parameter list, the last one at the top level; npos if there is none.
size_t parameter_list(std::string_view key) {
  int angle = 0, round = 0;
  size_t found = std::string_view::npos;
  for (size_t i = 0; i < key.size(); ++i) {
    if (key.substr(i).starts_with("(anonymous)")) {
      i += 10;
      continue;
    }
    if (key.substr(i).starts_with("operator()")) {
      i += 9;
      continue;
    }
    char c = key[i];
    if (c == '<') ++angle;
    if (c == '>' && (i == 0 || key[i - 1] != '-')) --angle;
    if (c == '(' && angle <= 0 && round++ == 0) found = i;
    if (c == ')' && angle <= 0) --round;
  }
  return found;
}

std::string without_spaces(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    bool between_words = i > 0 && i + 1 < text.size() && word_character(text[i - 1]) && word_character(text[i + 1]);
    if (text[i] != ' ' || between_words) result += text[i];
  }
  return result;
}

/// "k<5ul>" -> "k<5>", because the source spells it k<5UL>.
std::string without_suffixes(std::string text) {
  for (size_t at = 0; at < text.size();) {
    size_t end = end_of_word(text, at);
    if (end > at && std::isdigit(static_cast<unsigned char>(text[at]))) {
      const size_t suffix = text.find_last_not_of("uUlL", end - 1) + 1;
      text.erase(suffix, end - suffix), end = suffix;
    }
    at = std::max(end, at + 1);
  }
  return text;
}

/// qualified_name() as a view into `key`.
std::string_view qualified_part(std::string_view key) {
  std::string_view head = key.substr(0, parameter_list(key));
  int angle = 0;
  size_t begin = 0;
  for (size_t i = 0; i < head.size(); ++i) {
    if (head[i] == '<') ++angle;
    if (head[i] == '>') --angle;
    if (head[i] == ' ' && angle == 0 && !head.substr(0, i).ends_with("operator")) begin = i + 1;
  }
  return head.substr(begin);
}

/// "&(thrice(int))" -> "&thrice", "&(void twice<&(f(int))>(int))" -> "&twice<&f>": the demangler writes a function that
/// is a template argument with its parameters if it has no namespace, and nvcc puts a static one into a namespace of
/// its own. Works from the inside out, because the arguments of such a function may be functions too.
void reduce_function_arguments(std::string& text) {
  constexpr auto kNone = std::string::npos;
  for (size_t at = text.rfind("&("); at != kNone; at = at ? text.rfind("&(", at - 1) : kNone) {
    if (text.compare(at + 1, kAnonymous.size(), kAnonymous) == 0) continue;
    size_t end = at + 2;
    int depth = 1;
    for (; end < text.size() && depth > 0; ++end) depth += (text[end] == '(') - (text[end] == ')');
    if (depth > 0) continue;
    text.replace(at, end - at, "&" + qualified_name(std::string_view(text).substr(at + 2, end - at - 3)));
  }
}

}  // namespace

std::string canonical_key(std::string_view mangled) {
  std::string name = without_linkage_marks(mangled);
  int status = 0;
  char* demangled = name.starts_with("_Z") ? abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status) : nullptr;
  if (!demangled && name.starts_with("_Z"))
    demangled = abi::__cxa_demangle(without_auto_parameters(name).c_str(), nullptr, nullptr, &status);
  std::string key = demangled && status == 0 ? demangled : name;
  std::free(demangled);
  replace_all(key, "(anonymous namespace)", "(anonymous)");
  reduce_token(key, "_GLOBAL__N_", "(anonymous)");
  reduce_token(key, "_INTERNAL_", "(internal)");
  replace_all(key, "(internal)::", "");
  reduce_function_arguments(key);
  // The mangled name of a template holds its return type, that of a plain function does not: keys never do.
  if (size_t begin = static_cast<size_t>(qualified_part(key).data() - key.data()); begin > 0 && begin < key.size())
    key.erase(0, begin);
  return without_spaces(key);
}

std::string qualified_name(std::string_view key) { return std::string(qualified_part(key)); }

std::string shown_name(std::string_view key) {
  std::string name = qualified_name(key);
  for (size_t open = name.find('('); open != name.npos; open = name.find('(', open)) {
    size_t end = open + 1;
    for (int depth = 1; end < name.size() && depth > 0; ++end) depth += (name[end] == '(') - (name[end] == ')');
    size_t behind = end;
    while (name.compare(behind, 5, "const") == 0 || name.compare(behind, 1, " ") == 0)
      behind += name[behind] == ' ' ? 1 : 5;
    const bool lambda = name.compare(end, 1, "#") == 0, scope = name.compare(behind, 2, "::") == 0;
    const bool anonymous = name.compare(open, kAnonymous.size(), kAnonymous) == 0;
    if (lambda) name.erase(open, end - open);
    else if (scope && !anonymous) name.erase(open, behind - open);
    else ++open;
  }
  return name;
}

std::string base_name(std::string_view key) {
  std::string result;
  int angle = 0;
  for (char c : qualified_part(key)) {
    if (c == '<') ++angle;
    if (angle == 0) result += c;
    if (c == '>') --angle;
  }
  return result;
}

std::string unqualified_name(std::string_view name) {
  const size_t scope = name.rfind("::");
  return std::string(scope == name.npos ? name : name.substr(scope + 2));
}

bool key_matches(std::string_view key, std::string_view pattern) {
  std::string wanted = without_suffixes(without_spaces(pattern)), full = without_suffixes(without_spaces(key));
  if (wanted.empty()) return false;
  if (full == wanted) return true;
  if (wanted.find(kAnonymous) == std::string::npos) replace_all(full, kAnonymous, "");
  std::string with_arguments = qualified_name(full), plain = base_name(full), shown = shown_name(full);
  auto ends_at_boundary = [&](const std::string& name) {
    if (!name.ends_with(wanted)) return false;
    size_t before = name.size() - wanted.size();
    return before == 0 || (before >= 2 && name.compare(before - 2, 2, "::") == 0);
  };
  return ends_at_boundary(with_arguments) || ends_at_boundary(shown) || ends_at_boundary(plain) ||
         ends_at_boundary(full) || full.starts_with(wanted + "(");
}

}  // namespace kernelift
