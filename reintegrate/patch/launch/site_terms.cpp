// See site_terms.h.
#include "reintegrate/patch/launch/site_terms.h"

#include <algorithm>
#include <cstring>

#include "core/base/words.h"

namespace kernelift::reintegrate {
namespace {

using Op = Expression::Op;

/// x, where the expression is `x + divisor - 1` in one of the orders in which that is written.
std::optional<Expression> rounded_up(const Expression& dividend, const Expression& divisor) {
  auto is_one_less = [&](const Expression& node) {
    auto number = node.as_constant(), whole = divisor.as_constant();
    if (number && whole) return *number == *whole - 1;
    return node.op() == Op::Subtract && node.operands()[0] == divisor && node.operands()[1].is_constant(1);
  };
  if (dividend.op() == Op::Add)
    for (int side : {0, 1}) {
      auto &one = dividend.operands()[static_cast<size_t>(side)],
           &other = dividend.operands()[static_cast<size_t>(1 - side)];
      if (is_one_less(one)) return other;
      if (one == divisor && other.op() == Op::Subtract && other.operands()[1].is_constant(1))
        return other.operands()[0];
    }
  if (dividend.op() != Op::Subtract || !dividend.operands()[1].is_constant(1)) return std::nullopt;
  const Expression& sum = dividend.operands()[0];
  if (sum.op() != Op::Add) return std::nullopt;
  if (sum.operands()[1] == divisor) return sum.operands()[0];
  return sum.operands()[0] == divisor ? std::optional(sum.operands()[1]) : std::nullopt;
}

/// With ceil_div where it is written as an addition and a division.
Expression with_ceilings(const Expression& size) {
  return size.rewritten([](const Expression& node) -> std::optional<Expression> {
    if (node.op() != Op::Divide) return std::nullopt;
    auto dividend = rounded_up(node.operands()[0], node.operands()[1]);
    return dividend ? std::optional(ceil_div(with_ceilings(*dividend), with_ceilings(node.operands()[1])))
                    : std::nullopt;
  });
}

}  // namespace

bool has_effects(std::string_view text) {
  for (size_t at = 0; at < text.size(); ++at) {
    if (text.substr(at, 2) == "++" || text.substr(at, 2) == "--") return true;
    if (text[at] == '=' && (at == 0 || !std::strchr("=<>!", text[at - 1])) && text.substr(at, 2) != "==") return true;
  }
  return false;
}

bool calls_something(std::string_view text) {
  for (size_t at = 1; at < text.size(); ++at)
    if (text[at] == '(' && word_character(text[at - 1])) {
      size_t begin = at;
      while (begin > 0 && word_character(text[begin - 1])) --begin;
      std::string_view word = text.substr(begin, at - begin);
      if (word != "dim3" && word != "int" && word != "unsigned" && word != "size_t") return true;
    }
  return false;
}

std::string place_of(const SourceRange& range) { return range.file + ":" + std::to_string(range.line); }

std::string as_operand(const LaunchSite& site, const std::string& text) {
  int depth = 0;
  for (size_t at = 0, end; at < text.size(); at = std::max(end, at + 1)) {
    depth += std::strchr("([{", text[at]) ? 1 : std::strchr(")]}", text[at]) ? -1 : 0;
    end = at;
    while (end < text.size() && word_character(text[end])) ++end;
    if (depth == 0 && end > at && site.open_macros.contains(text.substr(at, end - at))) return "(" + text + ")";
  }
  return text;
}

std::map<std::string, std::string> plain_arguments(const Mep& mep, const LaunchSite& site) {
  std::map<std::string, std::string> names;
  for (size_t p = 0; p < mep.parameters.size() && p < site.argument_text.size(); ++p) {
    const std::string text = site.repeatable_argument(p);
    if (!mep.parameters[p].is_integer() || text.empty()) continue;
    // The launch converts what it passes to the parameter's type, which rounds, or cuts.
    const auto written = site.argument_types.find(p);
    const bool converts = written != site.argument_types.end() && written->second != mep.parameters[p].scalar;
    names.emplace(mep.parameters[p].name,
                  converts ? "(" + mep.parameters[p].scalar + ")(" + text + ")" : as_operand(site, text));
  }
  return names;
}

AskedNumber as_kernel_sees(const Mep& mep, const LaunchSite& site, const std::string& variable,
                           const std::string& text) {
  const std::string operand = "(" + text + ")";
  for (size_t p = 0; p < mep.parameters.size(); ++p) {
    auto& parameter = mep.parameters[p];
    if (parameter.name != variable || !parameter.is_integer()) continue;
    const auto written = site.argument_types.find(p);
    const bool same = written != site.argument_types.end() && written->second == parameter.scalar;
    const bool is_name = std::ranges::all_of(text, word_character) && !site.open_macros.contains(text);
    return {parameter.scalar,
            [operand, same, own = parameter.scalar](const std::string& type) {
              const bool once = same || (type == "long long" && (own == "long" || own == type));
              return "(" + type + ")" + (once ? "" : "(" + own + ")") + operand;
            },
            !same     ? ""
            : is_name ? text
                      : operand};
  }
  auto as = [operand](const std::string& type) { return "(" + type + ")" + operand; };
  const bool of_launch = variable.starts_with("gridDim.") || variable.starts_with("blockDim.");
  return {of_launch ? "unsigned int" : "", as, text};
}

bool same_size(const Expression& wanted, const Expression& spelled,
               const std::map<std::string, std::string>& arguments) {
  std::map<std::string, Expression> by;
  for (auto& [name, text] : arguments) {
    auto parsed = Expression::parse(text);
    if (parsed.ok()) by.emplace(name, *parsed);
    else if (wanted.uses(name)) return false;  // A variable of that name at the launch is another one.
  }
  return with_ceilings(wanted.substitute(by)) == with_ceilings(spelled);
}

}  // namespace kernelift::reintegrate
