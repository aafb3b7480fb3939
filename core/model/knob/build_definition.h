// A macro that the build's command line defines, `-DBLOCK=128`. The extracted text of a kernel that uses it spells it
// as a line of its own, so that a candidate can have another value; the patch then changes the build.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kernelift {

/// A macro's new value in the build, both as spelled.
struct Redefinition {
  std::string name, before, after;
};

/// "#define BLOCK 128", the line of the extracted text.
std::string build_definition(std::string_view name, std::string_view value);

/// The value with which a compiler's command defines the macro, as spelled; nullopt: not, not as a plain
/// `-DNAME=VALUE`, or in several ways.
std::optional<std::string> defined_by(const std::vector<std::string>& command, std::string_view name);
/// The command with another value in all definitions that give the macro this one.
std::vector<std::string> redefined(std::vector<std::string> command, std::string_view name, std::string_view before,
                                   std::string_view after);

}  // namespace kernelift
