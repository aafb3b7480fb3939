// MEPs of earlier versions do not list functions: for those, any line from the application counts, even a type's.
#include "reintegrate/patch/patchable_parts.h"

#include <algorithm>
#include <map>

#include "reintegrate/patch/patched_trees.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {
namespace {

class Application {
 public:
  Application(const fs::path& root, const std::vector<fs::path>& repositories) : trees_(root, repositories) {}
  bool holds(const std::string& file) {
    auto [at, is_new] = known_.try_emplace(file);
    if (is_new) at->second = trees_.hold(fs::weakly_canonical(trees_.root() / file, ignored_));
    return at->second;
  }

 private:
  std::error_code ignored_;
  PatchedTrees trees_;
  std::map<std::string, bool> known_;
};

}  // namespace

PatchableParts patchable_parts(const Mep& mep, const std::vector<fs::path>& repositories) {
  PatchableParts reach;
  Application application(mep.app_root, repositories);
  auto text = [&](const std::string& file, uint32_t line) {
    if (file.empty()) return;
    if (application.holds(file)) reach.text = true;
    else if (reach.outside.empty()) reach.outside = file + ":" + std::to_string(line);
  };
  for (auto& function : mep.functions) text(function.file, function.line);
  if (mep.functions.empty())
    for (auto& origin : mep.origins) text(origin.file, origin.line);
  for (auto& knob : mep.knobs) reach.text |= !knob.value_range.file.empty() && application.holds(knob.value_range.file);
  // Launches change together or not at all.
  auto is_own = [&](auto& site) { return site.spells_geometry() && application.holds(site.range.file); };
  reach.launches = !mep.launches.empty() && std::ranges::all_of(mep.launches, is_own);
  return reach;
}

std::string PatchableParts::why() const {
  if (text || outside.empty()) return {};
  return "its source lies outside the application (" + outside +
         ") and is not patched unless --repo names its repository" +
         (launches ? "; only its launches are in the application" : ", and its launches cannot be patched alone");
}

}  // namespace kernelift::reintegrate
