// What is known of an extracted kernel: its text, how it was launched, the values that it was given, and what may be
// changed.
#pragma once
#include <filesystem>

#include "core/model/mep.h"

namespace kernelift::cli::mcp {

/// `source` is the text of the MEP's kernel file.
Json facts_of(const Mep& mep, const std::filesystem::path& folder, const std::string& source);

}  // namespace kernelift::cli::mcp
