// A small tokenizer: comments and braces of scopes are dropped (a scope's registers are simply kept), statements end at
// semicolons.
#include "sandbox/device/cpu/lower/ptx/ptx_text.h"

#include <algorithm>
#include <cctype>
#include <set>

namespace kernelift::cpu {

namespace {

std::string trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return std::string(text);
}

std::string without_comments(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.substr(i, 2) == "/*") {
      const size_t end = text.find("*/", i + 2);
      i = end == std::string_view::npos ? text.size() : end + 2;
    } else {
      out += text[i++];
    }
  }
  return out;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : separator;
    if (c == '{' || c == '[' || c == '(') ++depth;
    if (c == '}' || c == ']' || c == ')') --depth;
    if ((c == separator && depth <= 0) || i == text.size()) {
      std::string part = trimmed(text.substr(start, i - start));
      if (!part.empty()) parts.push_back(std::move(part));
      start = i + 1;
    }
  }
  return parts;
}

/// Scope braces stand alone between statements; operand braces do not.
std::string without_scopes(const std::string& text) {
  std::string out;
  bool fresh = true;  // At a statement's beginning.
  int operand_depth = 0;
  for (char c : text) {
    if (c == '{' && fresh) continue;
    if (c == '{') ++operand_depth;
    if (c == '}' && operand_depth == 0) {
      out += ';';
      fresh = true;
      continue;
    }
    if (c == '}') --operand_depth;
    if (c == ';') fresh = true;
    else if (!std::isspace(static_cast<unsigned char>(c))) fresh = false;
    out += c;
  }
  return out;
}

/// One register may be declared in several scopes, as long as it is the same in each.
Status declare(std::string_view text, PtxText& ptx) {
  std::string rest = trimmed(text.substr(4));  // ".reg"
  if (rest.empty()) return done();
  const size_t end = rest.find_first_of(" \t\n");
  const std::string type = rest.substr(1, end == std::string::npos ? std::string::npos : end - 1);
  auto add = [&](const std::string& name) -> Status {
    const auto [known, fresh] = ptx.registers.try_emplace(name, type);
    if (!fresh && known->second != type)
      return refused("the register " + name + ", which is ." + known->second + " in one scope and ." + type +
                     " in another");
    return done();
  };
  for (const std::string& name : split(end == std::string::npos ? "" : rest.substr(end), ',')) {
    const size_t range = name.find('<');
    if (range == std::string::npos) {
      KERNELIFT_TRY(add(name));
      continue;
    }
    const int count = std::min(std::atoi(name.c_str() + range + 1), 256);
    for (int i = 0; i < count; ++i) KERNELIFT_TRY(add(name.substr(0, range) + std::to_string(i)));
  }
  return done();
}

}  // namespace

bool PtxStatement::plain() const {
  static const std::set<std::string_view> kUsual = {"ftz",  "rn",  "rz",  "rm",     "rp",   "lo",  "hi",
                                                    "wide", "sat", "NaN", "approx", "full", "pred"};
  return std::all_of(opcode.begin() + 1, opcode.end(), [](const std::string& part) {
    return part.find_first_of("0123456789") != std::string::npos || kUsual.contains(part);
  });
}

bool PtxStatement::has(std::string_view part) const {
  return std::find(opcode.begin(), opcode.end(), part) != opcode.end();
}

Result<PtxText> parse_ptx(std::string_view assembly) {
  PtxText ptx;
  for (std::string text : split(without_scopes(without_comments(assembly)), ';')) {
    PtxStatement statement;
    statement.text = text;
    if (text.starts_with(".reg")) {
      KERNELIFT_TRY(declare(text, ptx));
      continue;
    }
    if (text[0] == '@') {
      const size_t end = text.find_first_of(" \t\n");
      if (end == std::string::npos) return refused("a guard without an instruction");
      statement.negated = text[1] == '!';
      statement.guard = text.substr(statement.negated ? 2 : 1, end - (statement.negated ? 2 : 1));
      text = trimmed(std::string_view(text).substr(end));
    }
    if (text[0] == '.') return refused("the directive " + text);
    const size_t end = std::min(text.find_first_of(" \t\n"), text.size());
    if (text.substr(0, end).find(':') != std::string::npos) return refused("the label " + text.substr(0, end));
    statement.opcode = split(std::string_view(text).substr(0, end), '.');
    statement.operands = split(std::string_view(text).substr(end), ',');
    if (statement.opcode.empty()) return refused("the text " + text);
    ptx.statements.push_back(std::move(statement));
  }
  return ptx;
}

}  // namespace kernelift::cpu
