// Estimates which memory a kernel writes, before any experiment: regions that changed in a recorded launch, and regions
// that the parameters' types allow it to write. An application that launches a kernel repeatedly on equal inputs
// records launches that change nothing, since each rewrites equal values; and one of two outputs may be unchanged by
// chance. Calibration finds out by poison which regions are written (write_set.h); this file selects and orders the
// regions to try.
#pragma once
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/model/mep.h"

namespace kernelift::sandbox {

struct BaselineReport;

/// Whether the kernel writes to a region, by increasing likelihood.
enum class Writes : uint8_t {
  No,       ///< It is reached by pointers to const only; or an experiment showed that it is an input.
  Perhaps,  ///< It is reached through a structure, or through a pointer in memory.
  Likely,   ///< A parameter is a pointer to it, not to const.
  Does,     ///< It changed in some recorded launch, or an experiment showed that it is written.
};

class WrittenRegions {
 public:
  /// EXPECTS: `mep` outlives this.
  explicit WrittenRegions(const Mep& mep);
  Writes of(const MepInstance& instance, const MepRegion& region) const;

 private:
  /// Parameters and addresses of regions that changed in some launch. They count as written in all launches: a launch
  /// on equal inputs rewrites equal values.
  std::set<int> parameters_;
  std::set<uint64_t> addresses_;
  const Mep& mep_;
};

bool changes_anything(const Mep& mep);

/// The regions to poison, in order: first regions known to be written, then regions that may be, those with
/// floating-point elements first, since poison in possible indices makes faults likely. `most_unchanged`: of the
/// regions that are not known to be written, as each costs two runs.
template <class Region>
std::vector<size_t> to_poison(const std::vector<Region>& regions, bool unchanged_too, size_t most_unchanged) {
  std::vector<size_t> all;
  for (size_t i = 0; i < regions.size(); ++i)
    if (regions[i].writes == Writes::Does || (unchanged_too && regions[i].writes != Writes::No)) all.push_back(i);
  auto last = [&](size_t i) {
    return std::tuple(-static_cast<int>(regions[i].writes), !regions[i].bounds.layout.has_floats(), i);
  };
  std::ranges::sort(all, {}, last);
  auto known =
      static_cast<size_t>(std::ranges::count_if(all, [&](size_t i) { return regions[i].writes == Writes::Does; }));
  all.resize(std::min(all.size(), known + most_unchanged));
  return all;
}

/// Why a candidate that does nothing could not be distinguished from a right one; empty: it could.
std::string unverifiable(const Mep& mep, const BaselineReport& report);

}  // namespace kernelift::sandbox
