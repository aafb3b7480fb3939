// The folders whose files a patch may change: the application's own, and those that the user names besides (--repo),
// such as a library's that the application exercises. Nothing else is ever written.
#pragma once
#include <algorithm>
#include <filesystem>
#include <vector>

#include "core/base/within.h"

namespace kernelift::reintegrate {

class PatchedTrees {
 public:
  PatchedTrees(const std::filesystem::path& root, const std::vector<std::filesystem::path>& further) {
    std::error_code code;
    trees_.push_back(std::filesystem::weakly_canonical(root, code));
    for (auto& folder : further) trees_.push_back(std::filesystem::weakly_canonical(folder, code));
  }
  /// The application's, links resolved.
  const std::filesystem::path& root() const { return trees_[0]; }
  /// `real`: absolute, links resolved.
  bool hold(const std::filesystem::path& real) const {
    return std::ranges::any_of(trees_, [&](auto& tree) { return within(real, tree).has_value(); });
  }

 private:
  std::vector<std::filesystem::path> trees_;
};

}  // namespace kernelift::reintegrate
