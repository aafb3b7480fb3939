// A launch at a size that was not recorded: a recorded launch, in its memory, with other arguments and with the
// geometry that the application gives it for them. Made by sandbox/evaluate/size_plan.h, run by size_runs.h.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/model/launch/geometry.h"
#include "core/model/verdict/sizes_run.h"

namespace kernelift::sandbox {

/// Of a plan: most smaller sizes for one recorded instance, larger sizes, and instances.
inline constexpr size_t kMostSizes = 12, kLargerSizes = 4, kMostSizedInstances = 2;

/// An integer in a structure that is passed by value: bytes of the launch's arguments.
struct ArgumentPart {
  uint64_t offset = 0;
  uint32_t bytes = 0;
  int64_t value = 0;
};

struct SizedInstance {
  size_t instance = 0;               ///< Index of the recorded instance.
  OtherSize size;                    ///< The difference, for people.
  std::map<size_t, int64_t> values;  ///< Integer arguments that have another value, by parameter.
  std::vector<ArgumentPart> parts;   ///< The same of integers in structures.
  std::map<size_t, int64_t> moved;   ///< Pointers that are moved, by so many bytes, by parameter.
  std::map<size_t, size_t> same;     ///< Pointers that are equal to another one: both by parameter.
  /// Memory behind pointer arguments is so many times as large, filled with values like the recorded ones, and lies
  /// elsewhere; 1: it is the recorded one.
  double growth = 1;
  Geometry geometry;  ///< The original's; a candidate's follows from it.
  bool shown = true;  ///< To proposers, if a candidate is wrong there.

  bool has_other_values() const { return !values.empty() || !parts.empty(); }
};

/// What a finalist is run at beside the recorded inputs.
struct SizePlan {
  std::vector<SizedInstance> launches;
  uint64_t seed = 0;            ///< By which sizes were drawn.
  uint64_t beyond_premise = 0;  ///< Sizes that are left out, as in SizesRun.
  std::string left_out;         ///< As in SizesRun.
};

/// Asks why the original's result at that size is no reference for another text (it races there); empty: nothing is
/// known against it.
using AskReference = std::function<std::string(const SizedInstance&)>;

}  // namespace kernelift::sandbox
