// Knobs: the named integer constants (macros, const and constexpr variables, the constants of a nameless enum), and the
// numbers that launches give to a kernel's template (argument_finder.h), that feed a kernel, its launch geometry, or
// both. The author named them in order to be able to change them. Only constants whose value is one literal count:
// changing a derived one would break its relation to the others. Not knobs are
//   - the constants of a type (an enumeration's, a class template's, those that a class's data need): they define the
//     type (a trait's width, a table's row, a direction) for all code that uses it. Those of a class without data (a
//     policy) may be knobs, and a class's `static constexpr` members that a launch uses;
//   - constants that kernels only compare with (an architecture, a format, a state: ==, <, case, #if): another value
//     would select another case;
//   - constants that kernels only compute values with (a generator's multiplier): another value gives another answer;
//   - constants that only limit a loop's iterations: fewer iterations are less of an answer;
//   - extents of the data (rows, columns) that no launch uses. See knob_uses.h.
// A constant in an array's extent may only grow if some index is not bounded by it (capacities.h).
#pragma once
#include <vector>

#include "extractor/scan/kernel_finder.h"
#include "extractor/scan/launch_finder.h"

namespace kernelift::extractor {

struct KernelClosure {
  size_t kernel = 0;  ///< Index into the found kernels.
  Closure closure;
};

/// `Knob::kernels` has `label(function)` of each kernel that uses the knob.
std::vector<Knob> find_knobs(const ParsedUnit& unit, const SourceItems& items, const std::vector<FoundKernel>& kernels,
                             const std::vector<KernelClosure>& closures, const std::vector<FoundLaunch>& launches,
                             const std::function<std::string(const clang::FunctionDecl*)>& label);

}  // namespace kernelift::extractor
