// Which memory a kernel writes, as far as that is known before anything was tried: what changed in a recorded launch,
// and what its parameters' types do not rule out. An application that launches a kernel again and again on the same
// inputs records launches that change nothing, since each writes what lies there already; and of two outputs one may be
// left unchanged by chance. What of them is written calibration finds out, by filling them with poison; this says what
// is worth such a try, and in which order.
#pragma once
#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/model/mep.h"

namespace kernelift {

struct BaselineReport;

/// Does the kernel write to a region? In rising order of how likely it is.
enum class Writes : uint8_t {
  No,       ///< Its only pointers to it are to const; or it was tried, and is an input.
  Perhaps,  ///< It is reached through a structure, or through a pointer in memory.
  Likely,   ///< A parameter points to it, to what is not const.
  Does,     ///< It changed in some recorded launch, or was found to be written whatever was there.
};

class WrittenRegions {
 public:
  /// EXPECTS: `mep` outlives this.
  explicit WrittenRegions(const Mep& mep);
  Writes of(const MepInstance& instance, const MepRegion& region) const;

 private:
  /// What changed in one launch is written in all: one on equal inputs writes what is there already.
  std::set<int> parameters_;
  std::set<uint64_t> addresses_;
  const Mep& mep_;
};

bool changes_anything(const Mep& mep);

/// Which regions are filled with poison, in this order: what is known to be written, then what may be, of which numbers
/// lead a kernel less far astray than what may be indices. `long_runs`: each costs two of them.
template <class Region>
std::vector<size_t> to_poison(const std::vector<Region>& regions, bool unchanged_too, bool long_runs) {
  constexpr size_t kMost = 16, kMostOfLong = 2;  // Of what is not known.
  std::vector<size_t> all;
  for (size_t i = 0; i < regions.size(); ++i)
    if (regions[i].writes == Writes::Does || (unchanged_too && regions[i].writes != Writes::No)) all.push_back(i);
  auto last = [&](size_t i) {
    return std::tuple(-static_cast<int>(regions[i].writes), !regions[i].bounds.layout.has_floats(), i);
  };
  std::ranges::sort(all, {}, last);
  auto known =
      static_cast<size_t>(std::ranges::count_if(all, [&](size_t i) { return regions[i].writes == Writes::Does; }));
  all.resize(std::min(all.size(), known + (long_runs ? kMostOfLong : kMost)));
  return all;
}

/// Why nothing that a candidate leaves could be told from what one leaves that does nothing; empty: it could.
std::string unverifiable(const Mep& mep, const BaselineReport& report);

}  // namespace kernelift
