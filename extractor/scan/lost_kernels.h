// Kernels that a unit's text defines and that its parse did not yield: what was lost where clang refused a part of the
// unit. They are found by their text alone, so a template that nothing uses counts as well.
#pragma once
#include <string>
#include <vector>

#include "extractor/source/parsed_unit.h"

namespace kernelift::extractor {

/// "smooth (grid.h:20)" for each definition of a __global__ function, in the application's files that the unit reads,
/// of which `found` has no kernel. Text that the preprocessor skips is left out.
std::vector<std::string> lost_kernels(const ParsedUnit& unit, const std::vector<ScannedKernel>& found);

/// Whether `problem` of a unit names `kernel`, an unqualified name, among its lost kernels.
bool names_lost_kernel(const std::string& problem, const std::string& kernel);

/// The problem of a unit that names its lost kernels; empty if none was lost.
std::string lost_kernels_text(const std::vector<std::string>& lost);

}  // namespace kernelift::extractor
