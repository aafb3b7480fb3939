// What candidates' texts become where Kernelift keeps and shows them: a run of all that was judged, its exports, and
// its page.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "cli/hostile/canaries.h"
#include "core/model/candidate/candidate.h"
#include "core/model/verdict/verdict.h"

namespace kernelift::cli {

struct JudgedCandidate {
  Candidate candidate;
  Verdict verdict;
};

/// Writes them into `folder`; returns a sentence for everything that got through: a key, markup, control characters, a
/// candidate that is not in the run any more.
Result<std::vector<std::string>> look_at_stored_texts(const std::filesystem::path& folder,
                                                      const std::vector<JudgedCandidate>& judged,
                                                      const Canaries& canaries);

}  // namespace kernelift::cli
