// Whether one path lies under another, as the two are spelled: nothing is looked up on the disk.
#pragma once
#include <filesystem>
#include <optional>
#include <string>

namespace kernelift {

/// The way from `folder` down to `path`; nothing if that does not lie there.
inline std::optional<std::filesystem::path> within(const std::filesystem::path& path,
                                                   const std::filesystem::path& folder) {
  std::filesystem::path relative = path.lexically_relative(folder);
  if (relative.empty() || *relative.begin() == "..") return std::nullopt;
  return relative;
}

/// As a reader is told of it: from `folder` on if it lies there, else whole.
inline std::string relative_to(const std::filesystem::path& path, const std::filesystem::path& folder) {
  return within(path, folder).value_or(path).string();
}

}  // namespace kernelift
