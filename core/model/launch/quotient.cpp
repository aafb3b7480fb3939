// See quotient.h.
#include "core/model/launch/quotient.h"

#include <algorithm>

#include "core/base/words.h"

namespace kernelift {

bool rounds_up(const Quotient& quotient, const Bindings& knobs) {
  if (quotient.ceiling) return true;
  constexpr int64_t kAnySize = 64;  // Of what the divisor is made of.
  Bindings nothing = knobs;
  for (auto& name : quotient.divisor.variables()) nothing.try_emplace(name, kAnySize);
  for (auto& name : quotient.dividend.variables()) nothing.try_emplace(name, 0);
  auto added = quotient.dividend.evaluate(nothing), size = quotient.divisor.evaluate(nothing);
  return added.ok() && size.ok() && *size > 0 && *added * 2 >= *size;
}

namespace {

/// "s" of "s.n" stands in an argument: the kernel is told, and its guard may know.
bool is_passed(const std::string& name, const LaunchSite& site) {
  const std::string root = name.substr(0, name.find('.'));
  return std::any_of(site.argument_text.begin(), site.argument_text.end(),
                     [&](auto& text) { return !whole_words(text, root).empty(); });
}

}  // namespace

std::string why_not_rounded_up(const Mep& mep, const LaunchSite& site, int axis) {
  const std::string at = "the launch at line " + std::to_string(site.range.line) + " ";
  auto &grid = site.grid[axis], &block = site.block[axis];
  if (!grid || !block) return at + "does not spell its grid and block as expressions";
  const Bindings knobs = mep.knob_values();
  if (auto always = grid->evaluate(knobs); always.ok()) {
    bool as_recorded = std::all_of(mep.instances.begin(), mep.instances.end(),
                                   [&](auto& instance) { return along(instance.geometry.grid, axis) == *always; });
    return as_recorded ? "" : at + "always has " + std::to_string(*always) + " blocks, and others were recorded";
  }
  auto quotient = grid->as_quotient();
  if (!quotient || !rounds_up(*quotient, knobs)) return at + "does not round its grid up (" + grid->text() + ")";
  // `k<<<(part + B - 1) / B, B>>>(a, n)`: what lies past the part is not past the end.
  auto own = quotient->divisor.variables();
  for (auto& name : quotient->dividend.variables())
    if (!knobs.contains(name) && !own.contains(name) && !is_passed(name, site))
      return at + "covers a size that the kernel is not given (" + name + ")";
  if (quotient->divisor == *block) return {};
  auto by = quotient->divisor.evaluate(knobs), threads = block->evaluate(knobs);
  bool whole = by.ok() && threads.ok() && *threads > 0 && *by % *threads == 0;
  return whole ? "" : at + "does not divide its grid (" + grid->text() + ") by its block (" + block->text() + ")";
}

namespace {

/// Whatever the sizes are, `argument` is no more than the dividend: `n` and `n - 1` of `n + 63`, and not `2 * n`, or
/// `n` of `n / 2 + 63`.
bool is_no_more(const std::string& argument, const Expression& dividend, const Bindings& knobs) {
  auto told = Expression::parse(argument);
  if (!told.ok()) return false;
  auto names = dividend.variables(), more = told->variables();
  names.insert(more.begin(), more.end());
  for (int64_t turn = 0; turn < 8; ++turn) {
    Bindings values = knobs;
    int64_t place = 0;  // Each size the largest in some turn.
    for (auto& name : names)
      if (!knobs.contains(name)) values[name] = turn == 0 ? 1 : (place++ + turn) % 3 == 0 ? 1000003 : 11 + 37 * turn;
    auto covered = dividend.evaluate(values), size = told->evaluate(values);
    if (!covered.ok() || !size.ok() || *size > *covered) return false;
  }
  return true;
}

/// Nothing where the grid is always the same.
std::optional<std::set<CoveredSize>> covered_by(const LaunchSite& site, const Bindings& knobs, int axis) {
  auto& grid = site.grid[axis];
  if (grid && grid->evaluate(knobs).ok()) return std::nullopt;
  std::set<CoveredSize> covered;
  auto quotient = grid ? grid->as_quotient() : std::nullopt;
  if (!quotient) return covered;
  auto own = quotient->divisor.variables();
  for (auto& name : quotient->dividend.variables()) {
    if (knobs.contains(name) || own.contains(name)) continue;
    const size_t dot = std::min(name.find('.'), name.size());
    for (size_t p = 0; p < site.argument_text.size(); ++p) {
      const bool whole = site.argument_text[p] == name.substr(0, dot);
      if (!whole && whole_words(site.argument_text[p], name).empty()) continue;
      if (is_no_more(whole ? name : site.argument_text[p], quotient->dividend, knobs))
        covered.insert({p, whole && dot != name.size() ? name.substr(dot + 1) : ""});
    }
  }
  return covered;
}

}  // namespace

std::set<size_t> covered_parameters(const Mep& mep, const LaunchSite& site, int axis) {
  const Bindings knobs = mep.knob_values();
  std::set<size_t> parameters;
  if (auto covered = covered_by(site, knobs, axis))
    for (auto& size : *covered) parameters.insert(size.parameter);
  return parameters;
}

std::optional<std::set<CoveredSize>> covered_sizes(const Mep& mep, int axis) {
  const Bindings knobs = mep.knob_values();
  std::optional<std::set<CoveredSize>> all;
  if (!mep.unseen_launches.empty()) return std::set<CoveredSize>();
  for (auto* site : mep.all_launches()) {
    auto here = covered_by(*site, knobs, axis);
    if (here && all) std::erase_if(*all, [&](auto& size) { return !here->contains(size); });
    else if (here) all = std::move(here);
  }
  return all;
}

bool rounds_up(const Mep& mep, const LaunchSite& site, int axis) { return why_not_rounded_up(mep, site, axis).empty(); }

bool all_sites_round_up(const Mep& mep, int axis) {
  auto sites = mep.all_launches();
  return !sites.empty() && mep.unseen_launches.empty() &&
         std::all_of(sites.begin(), sites.end(), [&](auto* site) { return rounds_up(mep, *site, axis); });
}

}  // namespace kernelift
