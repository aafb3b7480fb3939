// The application that the server is started for: its root and state folder, and what a client may name in them. A
// client reaches no file outside of the root and the state folder by any path.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/mep.h"

namespace kernelift::cli::mcp {

struct Application {
  std::filesystem::path root, state;  ///< Absolute, links resolved as far as they exist.

  /// `root` is the folder of the state folder if that has its usual name, and else `working`.
  static Application of(const std::filesystem::path& state, const std::filesystem::path& working);

  /// The file or folder that `path` names, relative to the root. An Error: it does not exist, or lies outside.
  Result<std::filesystem::path> inside(const std::string& path) const;
  /// The MEP that a client names by its folder or its kernel.
  Result<std::filesystem::path> mep_folder(const std::string& word) const;
  /// All MEPs in the state folder that can be read, by name.
  std::vector<std::filesystem::path> meps() const;
};

}  // namespace kernelift::cli::mcp
