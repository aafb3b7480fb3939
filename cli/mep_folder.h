// The MEP that a user means: its folder, or the kernel's name, as `extract` and `apply` take it.
#pragma once
#include <filesystem>
#include <string>

#include "core/base/result.h"

namespace kernelift::cli {

/// `word` is a folder, or names a kernel ("smooth", "app::smooth<float, 8>") that was extracted to STATE/mep. Absolute.
/// Errors: there is none, or the name fits several.
Result<std::filesystem::path> find_mep(const std::string& word, const std::filesystem::path& state);

}  // namespace kernelift::cli
