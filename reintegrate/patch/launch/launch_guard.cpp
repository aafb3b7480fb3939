// See launch_guard.h.
#include "reintegrate/patch/launch/launch_guard.h"

#include <algorithm>

#include "core/model/kernel/declared_number.h"
#include "core/model/launch_values.h"

namespace kernelift::reintegrate {

LaunchGuard LaunchGuard::with(Premise premise) const {
  LaunchGuard more = *this;
  if (std::ranges::find(premises_, premise) == premises_.end()) more.premises_.push_back(std::move(premise));
  return more;
}

LaunchGuard LaunchGuard::without(const Bindings& known) const {
  LaunchGuard rest = *this;
  std::erase_if(rest.premises_, [&](Premise& premise) {
    if (premise.kind != Premise::Kind::Holds) return false;
    premise.condition = premise.condition.simplified(known);
    auto holds = premise.condition.as_constant();
    return holds && *holds != 0;
  });
  return rest;
}

std::string LaunchGuard::text() const {
  std::string all;
  for (auto& premise : premises_) all += (all.empty() ? "" : " and ") + premise.text();
  return all;
}

std::set<std::string> LaunchGuard::numbers() const {
  std::set<std::string> names;
  for (auto& premise : premises_)
    if (premise.kind == Premise::Kind::Holds) names.merge(premise.condition.variables());
  return names;
}

std::set<std::string> LaunchGuard::addresses() const {
  std::set<std::string> names;
  for (auto& premise : premises_)
    if (premise.kind == Premise::Kind::Aligned) names.insert(premise.arguments.front());
  return names;
}

Result<std::string> LaunchGuard::cpp(const std::map<std::string, AskedNumber>& numbers,
                                     const std::map<std::string, std::string>& addresses) const {
  std::string all;
  for (auto& premise : premises_) {
    std::string one;
    if (premise.kind == Premise::Kind::Holds) {
      KERNELIFT_ASSIGN(one, without_overflow(premise.condition, numbers));
    } else {
      one = addresses.at(premise.arguments.front()) + " % " + std::to_string(premise.bytes) + " == 0";
    }
    if (premises_.size() > 1) one = "(" + one + ")";
    all += (all.empty() ? "" : " && ") + one;
  }
  return all;
}

std::string one_for_all_launches(const LaunchGuard& guard, const Bindings& changed) {
  return "it is known to be right only where " + guard.text() + ", and '" + changed.begin()->first +
         "', which it changes, is one constant for all launches (--no-guards patches it all the same)";
}

namespace {

std::set<std::string> integer_parameters(const Mep& mep) {
  std::set<std::string> names;
  for (auto& parameter : mep.parameters)
    if (parameter.is_integer()) names.insert(parameter.name);
  return names;
}

}  // namespace

bool holds_at_all_launches(const Expression& condition, const Mep& mep) {
  const auto sites = mep.all_launches();
  const Bindings constants = mep.named_values();
  return !sites.empty() && mep.unseen_launches.empty() && std::ranges::all_of(sites, [&](const LaunchSite* site) {
    Bindings known;
    for (int axis = 0; axis < 3; ++axis)
      if (auto threads = constant_block(*site, axis, constants))
        known[std::string("blockDim.") + "xyz"[axis]] = *threads;
    for (size_t p = 0; p < mep.parameters.size(); ++p) {
      auto text = Expression::parse(site->repeatable_argument(p));
      auto value = text.ok() ? text->evaluate(constants) : Result<int64_t>(std::move(text).error());
      const auto declared = DeclaredNumber::of(mep.parameters[p].scalar);
      if (value.ok() && *value >= 0 && *value <= INT32_MAX && declared && declared->bits >= 32)
        known[mep.parameters[p].name] = *value;
    }
    auto holds = condition.evaluate(known);
    return holds.ok() && *holds != 0;
  });
}

LaunchGuard guard_of(const Candidate& candidate, const Verdict& figures, const Mep& mep) {
  std::vector<Premise> premises;
  auto& sizes = figures.other_sizes;
  if (sizes && sizes->premise && !holds_at_all_launches(*sizes->premise, mep))
    premises.push_back(Premise::holds(*sizes->premise));
  std::map<std::string, uint64_t> aligned;
  auto take = [&](const std::vector<Premise>& from) {
    for (auto& premise : from)
      if (premise.kind == Premise::Kind::Aligned) {
        uint64_t& bytes = aligned[premise.arguments.front()];
        bytes = std::max(bytes, premise.bytes);
      }
  };
  if (sizes) take(sizes->assumptions);
  for (auto& step : candidate.steps) take(step.premises);
  for (auto& [argument, bytes] : aligned) premises.push_back(Premise::aligned(argument, bytes));
  LaunchGuard guard(std::move(premises));
  if (sizes && sizes->proven()) return guard;
  const std::set<std::string> numbers = integer_parameters(mep);
  for (auto& step : candidate.steps)
    for (auto& premise : step.premises)
      if (premise.kind == Premise::Kind::Holds && premise.askable(numbers) &&
          !holds_at_all_launches(premise.condition, mep))
        guard = guard.with(premise);
  return guard;
}

}  // namespace kernelift::reintegrate
