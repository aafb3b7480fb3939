// See application.h.
#include "cli/mcp/application.h"

#include <algorithm>

#include "cli/mep_folder.h"
#include "core/base/shown/outside_text.h"
#include "core/base/within.h"

namespace fs = std::filesystem;

namespace kernelift::cli::mcp {
namespace {

fs::path resolved(const fs::path& path) {
  std::error_code code;
  fs::path real = fs::weakly_canonical(path, code);
  return code ? fs::absolute(path).lexically_normal() : real;
}

}  // namespace

Application Application::of(const fs::path& state, const fs::path& working) {
  const fs::path real = resolved(state);
  return {real.filename() == ".kernelift" ? real.parent_path() : resolved(working), real};
}

Result<fs::path> Application::inside(const std::string& path) const {
  const fs::path real = resolved(root / path);
  if (!within(real, root) && !within(real, state))
    return usage_error(shown_line(path) + " lies outside of the application's folder, " + root.string() +
                       "; only what is inside can be used");
  std::error_code code;
  if (!fs::exists(real, code)) return usage_error(shown_line(path) + " does not exist in " + root.string());
  return real;
}

Result<fs::path> Application::mep_folder(const std::string& word) const {
  // A word that names no MEP's folder is the name of a kernel.
  if (word.empty()) return usage_error("name a kernel or the folder of its MEP");
  auto found = inside(word);
  std::error_code code;
  if (found.ok() && fs::exists(*found / "mep.json", code)) return found;
  if (!found.ok() && (word.find("..") != word.npos || word.starts_with('/'))) return std::move(found).error();
  KERNELIFT_ASSIGN(fs::path folder, find_mep(word, state));
  return inside(folder.string());
}

std::vector<fs::path> Application::meps() const {
  std::vector<fs::path> found;
  std::error_code code;
  for (fs::directory_iterator at(state / "mep", code), end; !code && at != end; at.increment(code))
    if (Mep::read(at->path()).ok()) found.push_back(at->path());
  std::ranges::sort(found);
  return found;
}

}  // namespace kernelift::cli::mcp
