// Grids as they are spelled: `ceil_div(n, B)`, `(n + B - 1) / B`, `n / B`. Whether one rounds up says whether its
// launch starts threads past the end by itself, for which the kernel must have a guard; where none are, more than there
// were do work that nobody asked for: `k<<<3, B>>>(a, n)` is the first three blocks of a longer array.
#pragma once
#include <compare>
#include <optional>
#include <set>
#include <string>

#include "core/model/mep.h"

namespace kernelift {

/// It is ceil_div, or the dividend of a size of 0 is D - 1 or near it, as in `n + D - 1`.
bool rounds_up(const Quotient& quotient, const Bindings& knobs);

/// Every launch that is known covers a size that the kernel is told, along the axis in whole blocks of its own, rounded
/// up; or is as it was recorded, whatever the size. Then a grid may be rounded up further. Launches of all kernels that
/// the text defines; where some are not known: false.
bool all_sites_round_up(const Mep& mep, int axis);
bool rounds_up(const Mep& mep, const LaunchSite& site, int axis);
/// Empty where it does; else what of the site speaks against it, for people.
std::string why_not_rounded_up(const Mep& mep, const LaunchSite& site, int axis);

/// A parameter of the kernel, or a member of one, that holds a size which a launch's grid covers.
struct CoveredSize {
  size_t parameter = 0;
  std::string member;  ///< "n", "box.n"; empty: the parameter itself.
  auto operator<=>(const CoveredSize&) const = default;
};
/// Of one launch, the parameters that are or hold such a size. It is no more than the grid covers: of 2 * n threads'
/// work, or n of which half is covered, a guard would let in whoever comes behind.
std::set<size_t> covered_parameters(const Mep& mep, const LaunchSite& site, int axis);
/// Those that every known launch covers along the axis. A guard that asks of another, `first + i < total`, lets in
/// whoever comes past the part that the launch was for. None where launches are not known. nullopt: the grids are the
/// same whatever the sizes.
std::optional<std::set<CoveredSize>> covered_sizes(const Mep& mep, int axis);

}  // namespace kernelift
