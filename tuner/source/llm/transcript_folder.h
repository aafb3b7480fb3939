// The folder of a run's transcripts: every exchange with a model in a file of its own, without secrets.
#pragma once
#include <filesystem>

#include "core/base/json.h"

namespace kernelift::tuner {

class TranscriptFolder {
 public:
  /// Made when the first transcript is kept. Numbers go on behind those that are there.
  explicit TranscriptFolder(std::filesystem::path folder);
  /// As `folder`/NUMBER-KIND.json.
  Status keep(const std::string& kind, const Json& transcript);

 private:
  std::filesystem::path folder_;
  int last_ = 0;
};

}  // namespace kernelift::tuner
