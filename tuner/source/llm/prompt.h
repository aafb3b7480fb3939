// Prompt templates are text files with {{placeholders}}, so that prompts can be reviewed and changed without a build.
#pragma once
#include <filesystem>
#include <map>
#include <string>

#include "core/base/result.h"

namespace kernelift::tuner {

/// `folder`/`name`.txt with every {{key}} replaced once; placeholders inside values are not expanded. A placeholder
/// without a value is an Error that names it, and those that there are.
Result<std::string> fill_prompt(const std::filesystem::path& folder, const std::string& name,
                                const std::map<std::string, std::string>& values);

/// Text of an application, a candidate or a compiler, in a fence that it cannot close.
std::string as_data(const std::string& text);

}  // namespace kernelift::tuner
