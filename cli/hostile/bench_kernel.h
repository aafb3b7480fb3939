// A kernel that the suite's candidates attack: its text, and launches with made-up inputs, from a file in
// tests/hostile/kernels. It becomes a MEP of the user's machine, answered by the kernel itself.
#pragma once
#include <filesystem>

#include "cli/hostile/suite_file.h"
#include "core/model/mep.h"

namespace kernelift::cli {

struct BenchKernel {
  SuiteFile file;

  static Result<BenchKernel> of(SuiteFile file);
  /// Makes the MEP's folder; its answers are computed on the CPU device. EXPECTS: this process has one thread.
  Result<Mep> make_mep(const std::filesystem::path& folder, bool cuda) const;
};

/// The data file of what the first launch leaves in its last buffer.
std::filesystem::path answer_file(const std::filesystem::path& folder, const Mep& mep);

}  // namespace kernelift::cli
