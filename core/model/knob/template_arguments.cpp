// See template_arguments.h.
#include "core/model/knob/template_arguments.h"

#include <algorithm>

#include "core/base/words.h"
#include "core/model/kernel_key.h"

namespace kernelift {
namespace {

constexpr std::string_view kInstantiation = "\ntemplate __global__ void ::";

}  // namespace

std::vector<TextPart> template_arguments(std::string_view name) {
  std::vector<TextPart> parts;
  int angles = 0, brackets = 0;
  size_t begin = 0;
  auto end_at = [&](size_t end) {
    while (begin < end && name[begin] == ' ') ++begin;
    while (end > begin && name[end - 1] == ' ') --end;
    parts.push_back({begin, end});
  };
  for (size_t at = 0; at < name.size(); ++at) {
    const char c = name[at];
    if (c == '(' || c == '{' || c == '[') ++brackets;
    if (c == ')' || c == '}' || c == ']') --brackets;
    if (brackets != 0) continue;
    if (c == '<' && angles++ == 0) parts.clear(), begin = at + 1;
    if (angles == 1 && c == ',') end_at(at), begin = at + 1;
    if (c == '>' && angles > 0 && --angles == 0) {
      end_at(at);
      if (at + 1 == name.size()) return parts;
    }
  }
  return {};
}

std::string argument_constant(std::string_view kernel, std::string_view parameter) {
  return unqualified_name(kernel.substr(0, kernel.find('<'))) + "_" + std::string(parameter);
}

std::string argument_definition(std::string_view constant, int64_t value) {
  return "constexpr int " + std::string(constant) + " = " + std::to_string(value) + ";";
}

bool is_template_argument(const Mep& mep, const Knob& knob) {
  return std::ranges::any_of(mep.launches, [&](auto& site) {
    const SourceRange &kernel = site.kernel_range, &value = knob.value_range;
    return !value.file.empty() && kernel.file == value.file && kernel.begin < value.begin && value.end < kernel.end;
  });
}

std::vector<std::string> instantiated_arguments(std::string_view source) {
  const size_t line = source.rfind(kInstantiation);
  if (line == source.npos) return {};
  const std::string_view text = source.substr(line + kInstantiation.size());
  int angles = 0;
  size_t end = 0;  // Behind the name, where the parameters begin.
  for (; end < text.size() && (angles > 0 || text[end] != '('); ++end)
    angles += text[end] == '<' ? 1 : text[end] == '>' ? -1 : 0;
  std::vector<std::string> arguments;
  for (auto& part : template_arguments(text.substr(0, end)))
    arguments.emplace_back(text.substr(part.begin, part.end - part.begin));
  return arguments;
}

std::string instance_name(std::string_view source, std::string name, const Bindings& values) {
  const auto spelled = instantiated_arguments(source);
  const auto own = template_arguments(name);
  if (spelled.size() != own.size()) return name;
  for (size_t i = own.size(); i-- > 0;)
    if (auto value = values.find(spelled[i]); value != values.end())
      name.replace(own[i].begin, own[i].end - own[i].begin, std::to_string(value->second));
  return name;
}

}  // namespace kernelift
