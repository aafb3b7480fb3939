// Knobs: the named integer constants (macros, const and constexpr variables, the constants of a nameless enum) that
// feed a kernel, its launch geometry, or both. They are what the user already meant to be turned. Only constants whose
// value is one literal count: turning a derived one would break what it is derived from. A type's constants do not
// count, a class's or an enumeration's: they say what the type is (a traits' width, a table's row, a direction), to all
// who use it. Nor do those that the kernels only tell cases apart by (an architecture, a format, a state: ==, <, case,
// #if: another value would name another case), only compute values with (a generator's multiplier: another answer) or
// only repeat something by (an iteration's limit: less of an answer); see turnable_uses.h. Those that an array's extent
// is made of may only grow where an index is not held to it; see capacities.h.
#pragma once
#include <vector>

#include "extractor/scan/kernel_finder.h"
#include "extractor/scan/launch_finder.h"

namespace kernelift {

struct KernelClosure {
  size_t kernel = 0;  ///< Index into the found kernels.
  Closure closure;
};

/// `Knob::kernels` holds `label(function)` of each kernel fed.
std::vector<Knob> find_knobs(const ParsedUnit& unit, const SourceItems& items, const std::vector<FoundKernel>& kernels,
                             const std::vector<KernelClosure>& closures, const std::vector<FoundLaunch>& launches,
                             const std::function<std::string(const clang::FunctionDecl*)>& label);

}  // namespace kernelift
