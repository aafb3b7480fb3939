// See sized_side.h.
#include "core/legality/sized_side.h"

#include <array>
#include <set>

namespace kernelift::legality {
namespace {

/// One row for each trial; parameters take its values in turn.
constexpr std::array<std::array<int64_t, 5>, 3> kSizes{
    {{37, 23, 11, 5, 3}, {300, 70, 130, 40, 9}, {1000, 1000, 1000, 1000, 1000}}};

void collect(const Expression& expression, std::set<std::string>& into) {
  for (auto& name : expression.variables())
    if (name.starts_with("arg.")) into.insert(name);
}

}  // namespace

SizedSide::SizedSide(const Side& side, const Bindings& sizes) : model_(side.model), launch_(side.launch) {
  std::map<std::string, Expression> numbers;
  for (auto& [name, value] : sizes) numbers.emplace(name, Expression::constant(value));
  auto put_in = [&](Expression& expression) { expression = expression.substitute(numbers).simplified(); };
  for (auto& access : model_.accesses) {
    put_in(access.offset), put_in(access.domain);
    for (auto& component : access.time) put_in(component);
  }
  for (auto& barrier : model_.barriers) {
    put_in(barrier.domain);
    for (auto& component : barrier.time) put_in(component);
  }
  for (auto& number : model_.narrow) put_in(number.value), put_in(number.domain);
  for (auto& term : model_.terms)
    for (auto& argument : term.arguments) put_in(argument);
  model_.assumed.clear();
  for (auto& grid : launch_.grid)
    if (grid) put_in(*grid);
}

std::vector<Bindings> trial_sizes(const Side& original, const Side& candidate) {
  std::set<std::string> names;
  for (auto* side : {&original, &candidate}) {
    for (auto& access : side->model.accesses) collect(access.offset, names), collect(access.domain, names);
    for (auto& barrier : side->model.barriers) collect(barrier.domain, names);
    for (auto& grid : side->launch.grid)
      if (grid) collect(*grid, names);
  }
  if (names.empty()) return {};
  std::vector<Bindings> trials;
  for (auto& row : kSizes) {
    Bindings sizes;
    for (auto& name : names) {
      const size_t at = sizes.size();
      sizes[name] = row[at % row.size()];
    }
    trials.push_back(std::move(sizes));
  }
  return trials;
}

}  // namespace kernelift::legality
