// Inputs made up from a kernel's parameters, for when no run can be recorded: enough to compile, run and read a MEP,
// and labelled as what it is. Pointers get buffers of plausible numbers, large enough for every index that the made-up
// sizes can form; integers get one common size; expected results are not known, so nothing can be verified against
// them.
#pragma once
#include <filesystem>

#include "core/model/mep.h"
#include "extractor/extract/captured_inputs.h"

namespace kernelift::extractor {

/// Refused for parameters whose meaning cannot be made up: structs, and pointers to pointers or to structs that hold
/// them.
Result<MepInputs> make_inputs(const ScannedKernel& kernel, const std::vector<LaunchSite>& launches,
                              const std::vector<Knob>& knobs, const std::filesystem::path& folder);

}  // namespace kernelift::extractor
