// Whether one path lies under another, by their spelling: nothing is looked up on the disk.
#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace kernelift {

/// `path` relative to `folder`; nullopt if it does not lie there.
inline std::optional<std::filesystem::path> within(const std::filesystem::path& path,
                                                   const std::filesystem::path& folder) {
  std::filesystem::path relative = path.lexically_relative(folder);
  if (relative.empty() || *relative.begin() == "..") return std::nullopt;
  return relative;
}

/// For messages: `path` relative to `folder` if it lies there, else the whole path.
inline std::string relative_to(const std::filesystem::path& path, const std::filesystem::path& folder) {
  return within(path, folder).value_or(path).string();
}

}  // namespace kernelift
