// Which of the application's constants a candidate needs as they are: with other values it is compared with the
// original for all sizes, as finalists are. What is not known to be right then, the patch says
// (patch/constants/needed_constants.h).
#pragma once
#include <filesystem>

#include "core/model/candidate/candidate.h"
#include "core/model/mep.h"
#include "core/model/verdict/verdict.h"

namespace kernelift::cli {

/// A reintegrate::AskConstants function. Compiles and analyses; runs nothing.
Result<Bindings> needed_constants(const Mep& mep, const std::filesystem::path& folder, const std::string& original,
                                  const Candidate& candidate, const Verdict& figures);

}  // namespace kernelift::cli
