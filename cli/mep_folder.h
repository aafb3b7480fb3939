// Finds the MEP that a user names by its folder or by the kernel's name.
#pragma once
#include <filesystem>
#include <string>

#include "core/base/result.h"

namespace kernelift::cli {

/// The absolute path of the MEP. `word` is a folder, or the name of a kernel ("smooth", "app::smooth<float, 8>") that
/// was extracted to STATE/mep. Errors: there is no such MEP, or the name matches several.
Result<std::filesystem::path> find_mep(const std::string& word, const std::filesystem::path& state);

}  // namespace kernelift::cli
