// A folder's own name and the exact kernel name take precedence over partial matches.
#include "cli/mep_folder.h"

#include <algorithm>

#include "core/base/shown/near_names.h"
#include "core/compiler/frontend.h"
#include "core/compiler/paths.h"
#include "core/model/kernel_key.h"

namespace fs = std::filesystem;

namespace kernelift::cli {

Result<fs::path> find_mep(const std::string& word, const fs::path& state) {
  std::error_code code;
  if (fs::path folder = fs::canonical(word, code); !code && fs::is_directory(folder, code)) return folder;
  std::vector<fs::path> exact, similar;
  std::vector<std::string> names;
  std::vector<std::string> unreadable;  // A MEP's kernel is named in its mep.json.
  for (fs::directory_iterator at(state / "mep", code), end; !code && at != end; at.increment(code)) {
    auto mep = Mep::read(at->path());
    if (!mep.ok()) {
      if (at->path().filename() == word) return std::move(mep).error();
      if (fs::exists(at->path() / "mep.json")) unreadable.push_back(mep.error().message);
      continue;
    }
    names.push_back(mep->kernel_name);
    if (word == mep->kernel_name || word == at->path().filename()) exact.push_back(at->path());
    else if (key_matches(mep->kernel_key, word)) similar.push_back(at->path());
  }
  auto& found = exact.empty() ? similar : exact;
  std::ranges::sort(found);
  if (found.empty() && !unreadable.empty()) {
    std::ranges::sort(unreadable);
    std::string why;
    for (auto& one : unreadable) why += "\n  " + one;
    return environment_error(word +
                             ": no MEP that can be read is of a kernel with this name; it may be one of these:" + why);
  }
  if (found.empty()) {
    const std::string near = did_you_mean(word, names);
    return usage_error(word + ": there is no such folder, and no MEP of a kernel with this name under " +
                       (state / "mep").string() + (near.empty() ? "; create one with `kernelift extract`" : near));
  }
  if (found.size() == 1) return fs::canonical(found.front());
  std::string folders;
  for (auto& one : found) folders += "\n  " + one.string();
  return usage_error(word + " matches several MEPs; name the folder of one of them:" + folders);
}

std::vector<std::vector<std::string>> clang_argument_sets(const Mep& mep, const fs::path& folder) {
  std::vector<std::vector<std::string>> sets;
  for (HeaderSet headers : {HeaderSet::Lean, HeaderSet::Toolkit}) {
    if (headers == HeaderSet::Toolkit && !cuda_toolkit()) continue;
    FrontendOptions frontend;
    frontend.language = mep.language, frontend.headers = headers, frontend.flags = mep.compile_flags,
    frontend.folder = folder.string();
    if (!mep.architecture.empty()) frontend.arch = mep.architecture;
    sets.push_back(frontend_arguments(frontend));
  }
  return sets;
}

}  // namespace kernelift::cli
