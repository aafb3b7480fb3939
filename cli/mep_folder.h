// Finds the MEP that a user names by its folder or by the kernel's name, and how its text is parsed.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/mep.h"

namespace kernelift::cli {

/// The absolute path of the MEP. `word` is a folder, or the name of a kernel ("smooth", "app::smooth<float, 8>") that
/// was extracted to STATE/mep. Errors: there is no such MEP, or the name matches several.
Result<std::filesystem::path> find_mep(const std::string& word, const std::filesystem::path& state);

/// Sets of clang arguments for the MEP's text: with Kernelift's headers and, where it is installed, with the toolkit's.
std::vector<std::vector<std::string>> clang_argument_sets(const Mep& mep, const std::filesystem::path& folder);

}  // namespace kernelift::cli
