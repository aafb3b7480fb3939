// One launch of one image on a MEP's recorded inputs and nothing beside it, as a process's whole work: what NVIDIA's
// compute-sanitizer is put around. The process compiles no text and loads no host code of a candidate's.
#pragma once
#include <filesystem>

#include "sandbox/evaluate/runner/inquiry.h"

namespace kernelift::sandbox {

struct SingleLaunch {
  std::filesystem::path mep;
  std::string instance;  ///< MepInstance::id.
  int ordinal = 0;       ///< Of the GPU.
  RunnableCode code;
};

/// Stores it for launch_once() of another process.
Status write(const SingleLaunch& launch, const std::filesystem::path& file);
/// An Error says what the file, the GPU or the launch lacks, or how the launch ended.
Status launch_once(const std::filesystem::path& file);

}  // namespace kernelift::sandbox
