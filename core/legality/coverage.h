// Whether all that some accesses touch is touched by others, too.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/legality/footprint.h"

namespace kernelift::legality {

/// How the sentence about an element that only `touched` has begins and ends.
struct CoverageWords {
  std::string object, which;
  bool of_candidate = true;  ///< The accesses in `touched` are.
};

/// Whether each of the accesses touches no more than one that differs from it by its position at most: quickly
/// answered, where neighbours in a stencil overlap. False: nothing is said.
bool each_covered_by_its_like(const Setting& setting, const std::vector<Touch>& touched,
                              const std::vector<Touch>& allowed, size_t subscripts);

/// nullopt: isl gave up.
std::optional<Findings> uncovered(Setting& setting, const std::vector<Touch>& touched,
                                  const std::vector<Touch>& allowed, size_t subscripts, const CoverageWords& words);

}  // namespace kernelift::legality
