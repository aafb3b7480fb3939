// Watches an application's own build without standing in its way: a library that is preloaded into the build's
// processes (watch_preload.cpp) writes down every command of a GPU compiler, and the log is made of these records. The
// build runs its own compilers in its own environment, so its caches, dependency files and objects are those of a build
// without Kernelift.
#pragma once
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace kernelift::wrappers {

class BuildWatch {
 public:
  /// Creates the folder for records in `state`. An Error says why builds cannot be watched on this machine.
  static Result<BuildWatch> begin(const std::filesystem::path& state);

  /// What the build's environment needs.
  std::vector<std::pair<std::string, std::string>> environment() const;

  /// Logs what was recorded since begin(), and by an earlier build that was ended before it could; removes the records.
  /// Returns what could not be logged, one sentence each.
  Result<std::vector<std::string>> log() const;

 private:
  std::filesystem::path state_, records_, library_;
};

}  // namespace kernelift::wrappers
