// See launch_guard.h.
#include "reintegrate/patch/launch/launch_guard.h"

#include <algorithm>

namespace kernelift::reintegrate {

LaunchGuard LaunchGuard::with(Premise premise) const {
  LaunchGuard more = *this;
  if (std::ranges::find(premises_, premise) == premises_.end()) more.premises_.push_back(std::move(premise));
  return more;
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

std::string LaunchGuard::cpp(const std::map<std::string, std::string>& names) const {
  std::string all;
  for (auto& premise : premises_) {
    std::string one = premise.kind == Premise::Kind::Holds
                          ? premise.condition.cpp(names)
                          : names.at(premise.arguments.front()) + " % " + std::to_string(premise.bytes) + " == 0";
    if (premises_.size() > 1) one = "(" + one + ")";
    all += (all.empty() ? "" : " && ") + one;
  }
  return "(" + all + ")";
}

std::string one_for_all_launches(const LaunchGuard& guard, const Bindings& changed) {
  return "it is right only where " + guard.text() + ", and '" + changed.begin()->first +
         "', which it changes, is one constant for all launches (--no-guards patches it all the same)";
}

LaunchGuard guard_of(const Candidate& candidate, const Verdict& figures) {
  std::vector<Premise> premises;
  if (auto& sizes = figures.other_sizes; sizes && sizes->premise) premises.push_back(Premise::holds(*sizes->premise));
  std::map<std::string, uint64_t> aligned;
  auto take = [&](const std::vector<Premise>& from) {
    for (auto& premise : from)
      if (premise.kind == Premise::Kind::Aligned) {
        uint64_t& bytes = aligned[premise.arguments.front()];
        bytes = std::max(bytes, premise.bytes);
      }
  };
  if (figures.other_sizes) take(figures.other_sizes->assumptions);
  for (auto& step : candidate.steps) take(step.premises);
  for (auto& [argument, bytes] : aligned) premises.push_back(Premise::aligned(argument, bytes));
  return LaunchGuard(std::move(premises));
}

}  // namespace kernelift::reintegrate
