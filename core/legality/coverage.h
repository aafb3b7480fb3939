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
  bool of_candidate = true;                    ///< The accesses in `touched` are.
  const std::vector<Touch>* placed = nullptr;  ///< The same accesses, by their threads, where `touched` is without.
};

/// nullopt: isl gave up.
std::optional<Findings> uncovered(Setting& setting, const std::vector<Touch>& touched,
                                  const std::vector<Touch>& allowed, size_t subscripts, const CoverageWords& words);

/// The same question, quickly answered for stencils and unrolled loops, whose accesses are one access shifted by
/// constants. What holds of one of them then holds of all, while what the others touch would only cut the elements of
/// one into pieces. False: nothing is said.
bool covered_by_shifts(const Setting& setting, const std::vector<Touch>& touched, const std::vector<Touch>& allowed,
                       size_t subscripts);

}  // namespace kernelift::legality
