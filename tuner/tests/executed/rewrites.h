// What the source and parameter tiers offer for a kernel of a suite: the rules' opportunities and other block sizes.
#pragma once
#include <string>
#include <vector>

#include "core/legality/tests/suite.h"
#include "core/model/candidate/candidate.h"
#include "core/model/mep.h"
#include "tuner/tests/executed/executed_text.h"

namespace kernelift::tuner {

/// The kernel's name in a text with one kernel.
std::string kernel_name(const std::string& source);

/// The sizes that were recorded: the file's, two blocks of threads for all others.
Bindings recorded_sizes(const legality::SuiteKernel& kernel, const KernelMemory& memory);

/// The geometry of a launch for these sizes; nullopt: the application cannot launch it.
std::optional<Geometry> geometry_at(const legality::LaunchShape& launch, const Bindings& sizes);

/// The kernel as if it had been recorded at those sizes, in an application that launches it as the suite says.
Mep recorded_mep(const legality::SuiteKernel& kernel, const KernelSource& source, const KernelMemory& memory,
                 const ExecutedText& original);

inline constexpr const char* kBlockSize = "block size";
struct Rewrite {
  std::string rule;  ///< kBlockSize: the parameter tier's.
  Candidate candidate;
};
/// Of all rules and all their parameters, those that do the same listed once, and all points of the parameter tier's
/// space. `from`: the candidate that is rewritten; the original has no steps.
std::vector<Rewrite> rewrites(const Mep& mep, const Candidate& from);

/// The candidate's launch where the original's is `launch`.
legality::LaunchShape shape_of(const Candidate& candidate, const legality::LaunchShape& launch);

}  // namespace kernelift::tuner
