// LLVM writes one statement per line, directives in the first column, and comments that begin with "//"; strings occur
// only in directives that are dropped here.
#include "reintegrate/embed/ptx_text.h"

#include <algorithm>
#include <set>

#include "core/model/kernel_key.h"
#include "reintegrate/patch/text_diff.h"

namespace kernelift::reintegrate {
namespace {

bool name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%'; }

/// PtxWords of a directive up to its first bracket, brace, '=' or ';'.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  line = line.substr(0, line.find_first_of("({=;"));
  for (size_t at = 0; at < line.size();) {
    if (line[at] == ' ' || line[at] == '\t') {
      ++at;
      continue;
    }
    size_t end = std::min(line.find_first_of(" \t", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

std::string_view without_comment(std::string_view line) { return trimmed(line.substr(0, line.find("//"))); }

std::string_view first_word(std::string_view line) { return line.substr(0, line.find_first_of(" \t")); }

bool is_label(std::string_view line) { return line.size() > 1 && line.back() == ':' && line[0] == '$'; }

/// Offset of the line with the version; npos if there is none.
size_t version_line(const std::string& ptx) {
  if (ptx.starts_with(".version ")) return 0;
  size_t at = ptx.find("\n.version ");
  return at == ptx.npos ? at : at + 1;
}

}  // namespace

std::vector<std::string> ptx_kernels(const std::string& ptx) {
  std::vector<std::string> names;
  for (auto& line : split_lines(ptx)) {
    auto words = words_of(without_comment(line.text));
    for (size_t i = 0; i + 1 < words.size(); ++i)
      if (words[i] == ".entry") names.emplace_back(words[i + 1]);
  }
  return names;
}

std::string ptx_kernel(const std::string& ptx, const std::string& wanted) {
  std::string found;
  for (auto& name : ptx_kernels(ptx)) {
    if (name == wanted) return name;
    std::string key = canonical_key(name);
    if (key != wanted && !key_matches(key, wanted)) continue;
    if (!found.empty()) return {};
    found = name;
  }
  return found;
}

std::vector<PtxVariable> ptx_shared_variables(const std::string& ptx) {
  std::vector<PtxVariable> variables;
  for (auto& line : split_lines(ptx)) {
    auto words = words_of(without_comment(line.text));
    if (words.size() < 3) continue;
    bool seen = words[0] == ".visible" || words[0] == ".extern" || words[0] == ".weak" || words[0] == ".common";
    if (!seen || (words[1] != ".global" && words[1] != ".const")) continue;
    std::string_view name = words.back();
    variables.push_back({std::string(name.substr(0, name.find('['))), words[1] == ".const", words[0] != ".extern"});
  }
  return variables;
}

std::string ptx_target(const std::string& ptx) {
  for (auto& line : split_lines(ptx))
    if (line.text.starts_with(".target")) {
      std::string_view rest = trimmed(line.text.substr(7));
      return std::string(rest.substr(0, rest.find_first_of(", \t")));
    }
  return {};
}

std::string without_debug(const std::string& ptx) {
  std::vector<TextLine> lines = split_lines(ptx);
  std::set<std::string, std::less<>> jumped_to;
  for (auto& line : lines) {
    std::string_view text = without_comment(line.text);
    if (is_label(text)) continue;
    for (size_t at = text.find('$'); at != text.npos; at = text.find('$', at)) {
      size_t end = at;
      while (end < text.size() && name_character(text[end])) ++end;
      jumped_to.emplace(text.substr(at, end - at));
      at = end;
    }
  }
  std::string out;
  bool in_section = false;
  for (auto& line : lines) {
    std::string_view text = without_comment(line.text), word = first_word(text);
    if (in_section) {
      in_section = text.find('}') == text.npos;
      continue;
    }
    if (word == ".section") {
      in_section = text.find('}') == text.npos;
      continue;
    }
    if (text.empty() || word == ".loc" || word == ".file") continue;
    if (is_label(text) && !jumped_to.contains(text.substr(0, text.size() - 1))) continue;
    if (word == ".target") {
      size_t debug = text.find(", debug");
      text = text.substr(0, debug);
    }
    if (line.text.starts_with("\t") && !is_label(text)) out += '\t';
    out += text;
    out += '\n';
  }
  return out;
}

std::string with_most_registers(const std::string& ptx, int most) {
  std::string out;
  bool in_head = false, bounded = false;
  for (auto& line : split_lines(ptx)) {
    const std::string_view text = without_comment(line.text), word = first_word(text);
    const auto words = words_of(text);
    if (std::ranges::find(words, ".entry") != words.end()) in_head = true, bounded = false;
    for (auto* bound : {".maxntid", ".reqntid", ".minnctapersm", ".maxnreg"}) bounded |= in_head && word == bound;
    if (in_head && text.starts_with('{')) {
      if (!bounded) out += ".maxnreg " + std::to_string(most) + "\n";
      in_head = false;
    }
    out += line.text, out += line.end;
  }
  return out;
}

int ptx_version(const std::string& ptx) {
  size_t at = version_line(ptx);
  int major = 0, minor = 0;
  return at != ptx.npos && std::sscanf(ptx.c_str() + at, ".version %d.%d", &major, &minor) == 2 ? major * 10 + minor
                                                                                                : 0;
}

std::string with_ptx_version(const std::string& ptx, int version) {
  size_t at = version_line(ptx);
  if (at == ptx.npos) return ptx;
  return ptx.substr(0, at) + ".version " + std::to_string(version / 10) + "." + std::to_string(version % 10) +
         ptx.substr(ptx.find('\n', at));
}

}  // namespace kernelift::reintegrate
