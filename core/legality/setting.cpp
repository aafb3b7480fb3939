// See setting.h.
#include "core/legality/setting.h"

#include <isl/set.h>

#include <algorithm>

namespace kernelift::legality {

isl::set Setting::parameters_of(const isl::set& wrong, bool within) const {
  isl::set rest = within ? wrong.intersect(asked) : wrong;
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

const isl::set& Setting::set(const std::string& text) {
  auto [entry, fresh] = read.try_emplace(text);
  if (fresh) entry->second = isl::set(context, text);
  return entry->second;
}

void Setting::fix_uniform_terms(InstanceText& text, const KernelModel& model, const std::set<std::string>& variables,
                                InstanceText::Scope scope) {
  for (auto& variable : variables) {
    auto* term = variable.starts_with("term.") ? model.term(variable) : nullptr;
    if (!term || !term->repeats) continue;
    bool same = true;
    for (auto& argument : term->arguments)
      for (auto& part : argument.variables())
        same &= part.starts_with("arg.") || (scope == InstanceText::Scope::Block && part.starts_with("bid."));
    if (!same) continue;
    const std::pair what(term->value, term->arguments);
    auto found = std::ranges::find(uniform, what);
    if (found == uniform.end()) found = uniform.insert(found, what);
    text.fix_term(variable, Expression::variable("value.u" + std::to_string(found - uniform.begin())));
  }
}

std::string Setting::shown(const Expression& expression) const {
  constexpr size_t kShown = 100;  // A line of a person's terminal; what is longer is no explanation.
  std::string text = expression.text(names);
  return text.size() <= kShown ? text : text.substr(0, kShown) + " …";
}

std::string Setting::shown(const KernelModel::Object& object) const { return to_text(object, names); }

std::string Setting::shown(const KernelModel::Term& term) const { return to_text(term.value, term.arguments, names); }

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
