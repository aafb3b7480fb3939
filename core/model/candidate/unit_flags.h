// Flags of the application's own compiler for one file, as nvcc spells them: a gain by these needs no change of the
// source, and one line in the application's build. A closed set, because what they are given to is run by the user: no
// candidate can name another flag.
#pragma once
#include <string>
#include <vector>

#include "core/base/json.h"

namespace kernelift {

struct UnitFlags {
  bool fast_math = false;        ///< -use_fast_math: approximate functions, divisions and roots; denormals are zero.
  bool fused = true;             ///< false: --fmad=false, products and sums are rounded separately.
  int most_registers = 0;        ///< --maxrregcount, of each thread; 0: no limit. Nothing to the CPU device.
  std::string cache_loads = {};  ///< -Xptxas=-dlcm: "ca" in L1, "cg" in L2 only; empty: as the GPU does by itself.

  bool is_default() const { return *this == UnitFlags{}; }
  bool operator==(const UnitFlags&) const = default;
  /// One word each: {"-use_fast_math", "--maxrregcount=64"}.
  std::vector<std::string> nvcc_words() const;
  std::string text() const;  ///< In one line; empty: none.
  /// What they do to results, as predicates: Step::effects.
  std::vector<std::string> effects() const;
};

/// Those that are not the default.
Json to_json(const UnitFlags&);
/// Throws inside reading(), also for a value that no flag has.
UnitFlags unit_flags_from_json(const Json&);

}  // namespace kernelift
