// What CMake says of a build folder by its file API: a query is put into the folder, CMake configures it again as any
// change of a CMakeLists.txt would make it, and answers in files that are removed with this object.
#pragma once
#include <filesystem>
#include <memory>
#include <vector>

#include "core/base/json.h"
#include "core/base/result.h"

namespace kernelift::reintegrate {

class CmakeAnswer {
 public:
  /// `unit`: for whose sake CMake is asked, for messages.
  static Result<CmakeAnswer> ask(const std::filesystem::path& build_folder, const std::filesystem::path& unit);

  struct Target {
    std::filesystem::path directory;  ///< Of the CMakeLists.txt that adds it.
    Json document;                    ///< A "codemodel" target of CMake's file API.
    /// Index of the group that compiles the file, or -1.
    int group_of(const std::filesystem::path& file, const std::filesystem::path& top) const;
  };
  const std::filesystem::path& top() const { return top_; }  ///< The source folder.
  const std::vector<Target>& targets() const { return targets_; }
  /// The CMake files of the source folder that were read, without those that were generated or are CMake's own.
  const std::vector<std::filesystem::path>& files() const { return files_; }

 private:
  class Query;
  CmakeAnswer() = default;
  std::filesystem::path top_;
  std::vector<Target> targets_;
  std::vector<std::filesystem::path> files_;
};

}  // namespace kernelift::reintegrate
