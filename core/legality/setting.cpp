// See setting.h.
#include "core/legality/setting.h"

#include <isl/set.h>

#include <algorithm>
#include <cctype>
#include <regex>

namespace kernelift::legality {

isl::set Setting::parameters_of(const isl::set& wrong) const {
  isl::set rest = wrong.intersect(asked);
  for (auto& [name, expression] : parameters) {
    auto has = [&](const char* prefix) { return name.starts_with(prefix); };
    const bool of_block =
        std::ranges::any_of(expression.variables(), [](auto& variable) { return variable.starts_with("bid."); });
    if (!has("blocks_") && !has("uniform_") && !of_block) continue;
    const int place = rest.is_null() ? -1 : isl_set_find_dim_by_name(rest.get(), isl_dim_param, name.c_str());
    if (place >= 0) rest = isl::manage(isl_set_project_out(rest.release(), isl_dim_param, place, 1));
  }
  return rest;
}

void Setting::fix_uniform_terms(InstanceText& text, const KernelModel& model, const std::set<std::string>& variables,
                                InstanceText::Scope scope) {
  for (auto& variable : variables) {
    auto* term = variable.starts_with("term.") ? model.term(variable) : nullptr;
    if (!term || !term->repeats) continue;
    std::string what = term->text;
    bool same = true;
    for (auto& argument : term->arguments) {
      what += " | " + argument.text();
      for (auto& part : argument.variables())
        same &= part.starts_with("arg.") || (scope == InstanceText::Scope::Block && part.starts_with("bid."));
    }
    if (!same) continue;
    auto found = std::ranges::find(uniform, what);
    if (found == uniform.end()) found = uniform.insert(found, what);
    text.fix_term(variable, Expression::variable("value.u" + std::to_string(found - uniform.begin())));
  }
}

Expression spelled(const Expression& expression, const Names& names) {
  std::map<std::string, Expression> by;
  for (auto& [variable, name] : names)
    if (Expression::is_name(name)) by.emplace(variable, Expression::variable(name));
  return expression.substitute(by);
}

std::string Setting::shown(const Expression& expression) const {
  constexpr size_t kShown = 100;  // A line of a person's terminal; what is longer is no explanation.
  std::string text = spelled(expression, names).text();
  return text.size() <= kShown ? text : text.substr(0, kShown) + " …";
}

std::string Setting::shown(const KernelModel::Object& object) const {
  auto found = names.find(object.name);
  return found != names.end() ? found->second : object.shown.empty() ? object.name : object.shown;
}

std::string Setting::shown_term(std::string text) const {
  static const std::regex kLocal(R"(load \w+ local\.\d+\[#\d+\])"), kLoad(R"(load \w+ ([\w.]+)\[#\d+\])");
  text = std::regex_replace(text, kLocal, "a variable that each thread keeps in memory");
  text = std::regex_replace(text, kLoad, "an element of $1");
  for (auto& [variable, name] : names)
    for (size_t at = 0; (at = text.find(variable, at)) != std::string::npos;) {
      const size_t end = at + variable.size();
      if (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) at = end;
      else text.replace(at, variable.size(), name), at += name.size();
    }
  return text;
}

std::string Setting::example(const Bindings& values) const {
  std::string text;
  for (auto& [name, value] : values)
    text += (text.empty() ? "" : ", ") + shown(Expression::variable(name)) + " = " + std::to_string(value);
  return text;
}

std::string at_line(unsigned line) { return line == 0 ? "" : " in line " + std::to_string(line); }

const char* word(KernelModel::Access::Kind kind) {
  using Kind = KernelModel::Access::Kind;
  return kind == Kind::Load ? "reads" : kind == Kind::Store ? "writes" : "changes";
}

}  // namespace kernelift::legality
