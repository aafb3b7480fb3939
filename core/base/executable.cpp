// See executable.h.
#include "core/base/executable.h"

namespace fs = std::filesystem;

namespace kernelift {

Result<fs::path> executable() { return executable_of("/proc/self/exe"); }

Result<fs::path> executable_of(const fs::path& link) {
  constexpr std::string_view kGone = " (deleted)";  // Appended by the kernel.
  std::error_code code;
  fs::path program = fs::read_symlink(link, code);
  if (code) return environment_error("cannot read " + link.string() + ": " + code.message());
  std::string text = program.string();
  if (text.ends_with(kGone) && !fs::exists(program, code))
    return environment_error(
        text.substr(0, text.size() - kGone.size()) +
        " was replaced or removed while it ran, and this step would have to start it anew: run the command again");
  return program;
}

}  // namespace kernelift
