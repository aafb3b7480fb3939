// The secret by which a client of the HTTP server shows that it is the user's: in a file that nobody else can read.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace kernelift::cli::mcp {

/// Random bytes of the system, in hexadecimal.
Result<std::string> random_name(size_t bytes);

/// The token in `file`, which is made, with mode 0600, where it does not exist. An Error: others may read or change
/// the file, or it holds no token.
Result<std::string> access_token(const std::filesystem::path& file);

/// Compares in a time that does not depend on where the texts differ.
bool is_same_secret(std::string_view given, std::string_view expected);

}  // namespace kernelift::cli::mcp
