// See term_value.h.
#include "core/model/kernel/term_value.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

namespace kernelift {
namespace {

using Kind = TermValue::Kind;
using Memory = MemoryObject::Kind;

constexpr std::array<std::pair<Memory, const char*>, 5> kMemoryWords{{{Memory::Argument, "argument"},
                                                                      {Memory::Variable, "variable"},
                                                                      {Memory::Shared, "shared"},
                                                                      {Memory::Local, "local"},
                                                                      {Memory::Unknown, "unknown"}}};
constexpr std::array<std::pair<Kind, const char*>, 6> kValueWords{{{Kind::Opaque, "opaque"},
                                                                   {Kind::Constant, "constant"},
                                                                   {Kind::Parameter, "parameter"},
                                                                   {Kind::Argument, "argument"},
                                                                   {Kind::Element, "element"},
                                                                   {Kind::Operation, "operation"}}};
/// Operations that people write between their operands.
constexpr std::array<std::pair<const char*, const char*>, 19> kInfix{{{"fcmp oeq", "=="},
                                                                      {"fcmp ueq", "=="},
                                                                      {"fcmp one", "!="},
                                                                      {"fcmp une", "!="},
                                                                      {"fcmp olt", "<"},
                                                                      {"fcmp ult", "<"},
                                                                      {"fcmp ole", "<="},
                                                                      {"fcmp ule", "<="},
                                                                      {"fcmp ogt", ">"},
                                                                      {"fcmp ugt", ">"},
                                                                      {"fcmp oge", ">="},
                                                                      {"fcmp uge", ">="},
                                                                      {"fadd", "+"},
                                                                      {"fsub", "-"},
                                                                      {"fmul", "*"},
                                                                      {"fdiv", "/"},
                                                                      {"and", "&"},
                                                                      {"or", "|"},
                                                                      {"xor", "^"}}};
/// Conversions, which people do not write.
constexpr std::array kConversions{"fpext", "fptrunc", "sext", "zext", "trunc", "sitofp", "uitofp", "fptosi", "fptoui"};

template <class Words, class Value>
const char* bits_of(const Words& words, Value value) {
  return std::ranges::find(words, value, [](auto& word) { return word.first; })->second;
}

template <class Words>
auto value_of(const Words& words, const std::string& word) {
  auto found = std::ranges::find(words, word, [](auto& entry) { return entry.second; });
  if (found == words.end()) malformed("\"" + word + "\" is no kind");
  return found->first;
}

/// "float 5.000000e-01" as 0.5, "i32 7" as 7; what is no number stays.
std::string constant_text(const std::string& printed) {
  const std::string number = printed.substr(printed.find(' ') + 1);
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  // Floats that no short decimal number is are printed by LLVM as the bits of a double.
  if (number.empty() || *end != '\0' || number.starts_with("0x")) return number;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.9g", value);
  return text.data();
}

/// How an operation of two operands is written between them; null: it is written otherwise.
const char* infix(const TermValue& value) {
  if (value.kind != Kind::Operation || value.operands.size() != 2) return nullptr;
  auto found = std::ranges::find(kInfix, value.what, [](auto& entry) { return std::string(entry.first); });
  return found == kInfix.end() ? nullptr : found->second;
}

std::string operation_text(const TermValue& value, const std::vector<Expression>& arguments,
                           const VariableNames& names) {
  std::vector<std::string> operands;
  for (auto& operand : value.operands) operands.push_back(to_text(operand, arguments, names));
  if (operands.size() == 1 && std::ranges::count(kConversions, value.what)) return operands[0];
  if (auto* between = infix(value)) {
    for (size_t i = 0; i < 2; ++i)
      if (infix(value.operands[i])) operands[i] = "(" + operands[i] + ")";
    return operands[0] + " " + between + " " + operands[1];
  }
  std::string text = value.what.starts_with("__nv_") ? value.what.substr(5) : value.what;
  for (size_t i = 0; i < operands.size(); ++i) text += (i == 0 ? "(" : ", ") + operands[i];
  return operands.empty() ? text + "()" : text + ")";
}

}  // namespace

std::string to_text(const MemoryObject& object, const VariableNames& names) {
  if (object.kind == Memory::Local) return "a variable that each thread keeps in memory";
  if (auto found = names.find(object.name); found != names.end()) return found->second;
  if (object.name.empty()) return "unknown memory";
  return object.shown.empty() ? object.name : object.shown;
}

bool TermValue::is_input() const {
  if (kind == Kind::Element) return object.kind == Memory::Argument;
  if (kind != Kind::Operation || !what.starts_with("fcmp ") || operands.size() != 2) return false;
  auto is_element = [](const TermValue& value) {
    const bool widened = value.kind == Kind::Operation && value.what == "fpext" && value.operands.size() == 1;
    const TermValue& read = widened ? value.operands[0] : value;
    return read.kind == Kind::Element && read.object.kind == Memory::Argument;
  };
  auto is_constant = [](const TermValue& value) { return value.kind == Kind::Constant; };
  return (is_element(operands[0]) && is_constant(operands[1])) || (is_constant(operands[0]) && is_element(operands[1]));
}

std::string to_text(const TermValue& value, const std::vector<Expression>& arguments, const VariableNames& names) {
  switch (value.kind) {
    case Kind::Constant: return constant_text(value.what);
    case Kind::Parameter: {
      auto found = names.find(value.what);
      return found == names.end() ? value.what : found->second;
    }
    case Kind::Argument: return value.argument < arguments.size() ? arguments[value.argument].text(names) : "?";
    case Kind::Element: {
      const std::string object = to_text(value.object, names);
      return value.object.kind == Memory::Local ? object : "an element of " + object;
    }
    case Kind::Operation: return operation_text(value, arguments, names);
    default: return value.what;
  }
}

Expression spelled(const Expression& expression, const VariableNames& names) {
  std::map<std::string, Expression> by;
  for (auto& [variable, name] : names)
    if (Expression::is_name(name)) by.emplace(variable, Expression::variable(name));
  return expression.substitute(by);
}

Json to_json(const MemoryObject& object) {
  Json json{{"kind", bits_of(kMemoryWords, object.kind)}, {"name", object.name}};
  if (object.bytes) json["bytes"] = *object.bytes;
  if (!object.shown.empty()) json["shown"] = object.shown;
  if (object.own) json["own"] = true;
  if (object.alignment > 0) json["alignment"] = object.alignment;
  return json;
}

MemoryObject memory_object_from_json(const Json& json) {
  MemoryObject object{value_of(kMemoryWords, json.at("kind")), json.at("name"), {}};
  if (json.contains("bytes")) object.bytes = json.at("bytes").get<uint64_t>();
  object.shown = json.value("shown", "");
  object.own = json.value("own", false);
  object.alignment = json.value("alignment", uint64_t(0));
  return object;
}

Json to_json(const TermValue& value) {
  Json json{{"kind", bits_of(kValueWords, value.kind)}};
  if (!value.what.empty()) json["what"] = value.what;
  if (!value.detail.empty()) json["detail"] = value.detail;
  if (value.kind == Kind::Argument || value.kind == Kind::Element) json["argument"] = value.argument;
  if (value.kind == Kind::Element) json["object"] = to_json(value.object);
  for (auto& operand : value.operands) json["operands"].push_back(to_json(operand));
  return json;
}

TermValue term_value_from_json(const Json& json) {
  TermValue value{.kind = value_of(kValueWords, json.at("kind")),
                  .what = json.value("what", ""),
                  .detail = json.value("detail", "")};
  value.argument = json.value("argument", size_t{0});
  if (value.kind == Kind::Element) value.object = memory_object_from_json(json.at("object"));
  if (json.contains("operands"))
    for (auto& operand : json.at("operands")) value.operands.push_back(term_value_from_json(operand));
  return value;
}

}  // namespace kernelift
