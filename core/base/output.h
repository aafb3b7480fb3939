// What a user asked for, written to the place that the user named.
#pragma once
#include <filesystem>
#include <string_view>

#include "core/base/result.h"

namespace kernelift {

/// Through symbolic links, and into pipes, terminals and devices, none of which it replaces. A regular file is written
/// atomically. For files of our own, write_atomically() is right: it replaces a link instead of following it to
/// wherever somebody else made it lead.
Status write_output(const std::filesystem::path& path, std::string_view text);

}  // namespace kernelift
