// MEPs of earlier versions do not list functions: there any line of the application's counts, a type's too.
#include "reintegrate/patch/patch_reach.h"

#include <algorithm>
#include <map>

#include "core/base/within.h"

namespace fs = std::filesystem;

namespace kernelift {
namespace {

class Tree {
 public:
  explicit Tree(const fs::path& root) : root_(fs::weakly_canonical(root, ignored_)) {}
  bool holds(const std::string& file) {
    auto [at, is_new] = known_.try_emplace(file);
    if (is_new) at->second = within(fs::weakly_canonical(root_ / file, ignored_), root_).has_value();
    return at->second;
  }

 private:
  std::error_code ignored_;
  fs::path root_;
  std::map<std::string, bool> known_;
};

}  // namespace

PatchReach patch_reach(const Mep& mep) {
  PatchReach reach;
  Tree application(mep.app_root);
  auto text = [&](const std::string& file, uint32_t line) {
    if (file.empty()) return;
    if (application.holds(file)) reach.text = true;
    else if (reach.outside.empty()) reach.outside = file + ":" + std::to_string(line);
  };
  for (auto& function : mep.functions) text(function.file, function.line);
  if (mep.functions.empty())
    for (auto& origin : mep.origins) text(origin.file, origin.line);
  for (auto& knob : mep.knobs) reach.text |= !knob.value_range.file.empty() && application.holds(knob.value_range.file);
  // They change together or not at all.
  auto is_own = [&](auto& site) { return !site.through_macro && application.holds(site.range.file); };
  reach.launches = !mep.launches.empty() && std::ranges::all_of(mep.launches, is_own);
  return reach;
}

std::string PatchReach::why() const {
  if (text || outside.empty()) return {};
  return "its source lies outside the application (" + outside + "), where no patch goes" +
         (launches ? "; only its launches are the application's own" : ", and its launches cannot be patched alone");
}

}  // namespace kernelift
