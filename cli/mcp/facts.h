// What is known of an extracted kernel: its text, how it was launched, the values that it was given, and what may be
// changed.
#pragma once
#include <filesystem>

#include "core/model/mep.h"

namespace kernelift::cli::mcp {

/// `source` is the text of the MEP's kernel file.
Json facts_of(const Mep& mep, const std::filesystem::path& folder, const std::string& source);

/// What rewrite rules and settings of parameters came to in the MEP's latest runs, on a processor or on a GPU: a line
/// each, those that gained first. Runs of another state of the MEP do not count. Reads them whole: for a process of its
/// own. Empty: nothing was tried.
Json tried_in_runs(const std::filesystem::path& state, const std::filesystem::path& folder, const Mep& mep,
                   bool on_cpu);

}  // namespace kernelift::cli::mcp
