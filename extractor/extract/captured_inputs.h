// The captured launches of one kernel as a MEP holds them: images become plain data files, regions get the parameter
// that reaches them and an element type, variables get the slice's names. What cannot be carried over is refused or
// named.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/model/capture.h"
#include "core/model/mep.h"
#include "extractor/extract/module_facts.h"

namespace kernelift::extractor {

struct MepInputs {
  std::vector<MepInstance> instances;
  std::vector<std::string> limits;            ///< Sentences for the README.
  std::vector<std::string> damage = {};       ///< What of the capture could not be used: said at once, too.
  std::map<std::string, uint64_t> sums = {};  ///< MepProgram::sums of the data files.
};

/// The instances of `kernel` (see capture_join.h). An Error, with what the capture does hold, if there are none.
Result<std::vector<const CapturedInstance*>> instances_of(const Capture& capture, const ScanIndex& index,
                                                          const ScannedKernel& kernel);

/// Writes data files under `folder`; one image at a time is in memory.
Result<MepInputs> take_inputs(const Capture& capture, const std::vector<const CapturedInstance*>& instances,
                              const ScannedKernel& kernel, const ModuleFacts& facts,
                              const std::filesystem::path& folder);

}  // namespace kernelift::extractor
