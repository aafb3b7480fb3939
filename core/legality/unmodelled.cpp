// See unmodelled.h.
#include "core/legality/unmodelled.h"

#include <algorithm>

namespace kernelift::legality {
namespace {

bool is_print(const std::string& one) { return one.starts_with(KernelModel::kPrint); }

/// "part and flag" of "unfenced arg.a1, arg.a2 by …".
std::string objects_of(const std::string& unfenced, const Names& names) {
  const size_t begin = std::string(KernelModel::kUnfenced).size(), comma = unfenced.find(", ");
  auto shown = [&](const std::string& object) {
    auto found = names.find(object);
    return found == names.end() ? object : found->second;
  };
  return shown(unfenced.substr(begin, comma - begin)) + " and " +
         shown(unfenced.substr(comma + 2, unfenced.rfind(" by ") - comma - 2));
}

/// Of what the candidate alone leaves unordered: the original has no such fence.
bool has_no_fence(const KernelModel& original, const std::string& unfenced) {
  const size_t by = unfenced.rfind(" by ");
  return !original.unmodelled.contains(KernelModel::kFence + unfenced.substr(by + std::string(" by ").size()));
}

}  // namespace

std::string unmodelled_difference(const Side& original, const Side& candidate, const Names& names) {
  auto &before = original.model, &after = candidate.model;
  std::vector<std::string> different;
  std::ranges::set_symmetric_difference(before.unmodelled, after.unmodelled, std::back_inserter(different));
  // More fences order more.
  std::erase_if(different, [&](auto& one) {
    const bool added = after.unmodelled.contains(one);
    if (one.starts_with(KernelModel::kUnfenced)) return !added || has_no_fence(before, one);
    return added && one.starts_with(KernelModel::kFence);
  });
  const bool other_launch =
      original.launch.block != candidate.launch.block || original.launch.grid != candidate.launch.grid;
  if (different.empty() && other_launch && std::ranges::any_of(after.unmodelled, is_print))
    return "what its threads print under another launch is not understood";
  if (different.empty()) return "";
  const bool added = after.unmodelled.contains(different[0]);
  if (different[0].starts_with(KernelModel::kUnfenced))
    return "the original's fences order " + objects_of(different[0], names) + ", and the candidate's do not";
  return std::string("what ") + (added ? "it" : "the original") + " does by '" + different[0] + "', and the " +
         (added ? "original" : "candidate") + " does not, is not understood";
}

}  // namespace kernelift::legality
