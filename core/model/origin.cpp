// Text of origins; see origin.h.
#include "core/model/origin.h"

#include <charconv>
#include <cstdio>
#include <optional>

namespace kernelift {
namespace {

constexpr std::string_view kArgument = "arg ", kArgumentBytes = "argument byte ", kVariable = "variable ",
                           kAlive = "alive at the launch", kLeadsTo = ", variable ", kOffset = " +";

/// All of the text as a number.
template <class Number>
std::optional<Number> number(std::string_view text, int base = 10) {
  Number value = 0;
  auto [end, code] = std::from_chars(text.begin(), text.end(), value, base);
  return !text.empty() && code == std::errc() && end == text.end() ? std::optional(value) : std::nullopt;
}

/// Takes " +8" off the text's end; 0 where there is none.
uint64_t take_offset(std::string_view& text) {
  const size_t at = text.rfind(kOffset);
  auto offset = at == text.npos ? std::nullopt : number<uint64_t>(text.substr(at + kOffset.size()));
  if (offset) text = text.substr(0, at);
  return offset.value_or(0);
}

/// By the text's form; whatever else it holds is lost.
Origin parse_form(std::string_view text) {
  if (const size_t at = text.find(kLeadsTo); at != text.npos) {
    Origin origin = parse_form(text.substr(0, at));
    origin.variable = text.substr(at + kLeadsTo.size());
    return origin;
  }
  if (text == kAlive) return Origin::alive();
  if (text.starts_with(kArgumentBytes))
    return Origin::of_argument_bytes(number<uint64_t>(text.substr(kArgumentBytes.size())).value_or(0));
  const uint64_t offset = take_offset(text);
  if (text.starts_with(kVariable)) return Origin::of_variable(std::string(text.substr(kVariable.size())), offset);
  if (text.starts_with("0x")) return Origin::of_memory(number<uint64_t>(text.substr(2), 16).value_or(0), offset);
  auto argument = text.starts_with(kArgument) ? number<int>(text.substr(kArgument.size())) : std::nullopt;
  return argument && *argument >= 0 ? Origin::of_argument(static_cast<size_t>(*argument), offset) : Origin();
}

}  // namespace

Origin Origin::of_argument(size_t argument, uint64_t offset) {
  Origin origin;
  origin.root = Root::Argument, origin.argument = static_cast<int>(argument), origin.offset = offset;
  return origin;
}
Origin Origin::of_argument_bytes(uint64_t offset) {
  Origin origin;
  origin.root = Root::ArgumentBytes, origin.offset = offset;
  return origin;
}
Origin Origin::of_variable(std::string name, uint64_t offset) {
  Origin origin;
  origin.root = Root::Variable, origin.name = std::move(name), origin.offset = offset;
  return origin;
}
Origin Origin::of_memory(uint64_t address, uint64_t offset) {
  Origin origin;
  origin.root = Root::Memory, origin.address = address, origin.offset = offset;
  return origin;
}
Origin Origin::alive() {
  Origin origin;
  origin.root = Root::Alive;
  return origin;
}

Origin Origin::parse(std::string_view text) {
  Origin origin = parse_form(text);
  if (origin.text() == text) return origin;
  origin = Origin();
  origin.name = text;
  return origin;
}

std::string Origin::text() const {
  const std::string member = std::string(kOffset) + std::to_string(offset);
  std::string text = name;
  switch (root) {
    case Root::Text: break;
    case Root::Argument: text = std::string(kArgument) + std::to_string(argument) + (offset ? member : ""); break;
    case Root::ArgumentBytes: text = std::string(kArgumentBytes) + std::to_string(offset); break;
    case Root::Variable: text = std::string(kVariable) + name + (offset ? member : ""); break;
    case Root::Memory: {
      char digits[32];
      std::snprintf(digits, sizeof digits, "0x%llx", static_cast<unsigned long long>(address));
      text = digits + member;
      break;
    }
    case Root::Alive: text = kAlive; break;
  }
  return variable.empty() ? text : text + std::string(kLeadsTo) + variable;
}

}  // namespace kernelift
