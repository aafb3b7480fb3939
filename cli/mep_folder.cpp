// See mep_folder.h.
#include "cli/mep_folder.h"

#include <algorithm>
#include <vector>

#include "core/model/kernel_key.h"
#include "core/model/mep.h"

namespace fs = std::filesystem;

namespace kernelift::cli {

Result<fs::path> find_mep(const std::string& word, const fs::path& state) {
  std::error_code code;
  if (fs::path folder = fs::canonical(word, code); !code) return folder;
  std::vector<fs::path> exact, alike;
  for (fs::directory_iterator at(state / "mep", code), end; !code && at != end; at.increment(code)) {
    auto mep = Mep::read(at->path());
    if (!mep.ok()) continue;
    if (word == mep->kernel_name || word == at->path().filename()) exact.push_back(at->path());
    else if (key_matches(mep->kernel_key, word)) alike.push_back(at->path());
  }
  auto& found = exact.empty() ? alike : exact;
  std::ranges::sort(found);
  if (found.empty())
    return usage_error(word + ": there is no such MEP folder, nor one of such a kernel under " +
                       (state / "mep").string() + "; `kernelift extract` makes one");
  if (found.size() == 1) return fs::canonical(found.front());
  std::string names;
  for (auto& one : found) names += "\n  " + one.string();
  return usage_error(word + " names several MEPs; give the folder of one:" + names);
}

}  // namespace kernelift::cli
