// See fence_order.h. For each kind of fence the objects that may have been touched since the last one are followed
// along all ways through the kernel.
#include "core/compiler/model/effects/fence_order.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Support/raw_ostream.h>

#include <array>

namespace kernelift {
namespace {

/// A fence for more threads is one for fewer, too.
bool is_as_strong(const std::string& fence, const std::string& kind) {
  static constexpr std::array kByReach{"llvm.nvvm.membar.cta", "llvm.nvvm.membar.gl", "llvm.nvvm.membar.sys"};
  auto reach = [](const std::string& one) { return std::ranges::find(kByReach, one) - kByReach.begin(); };
  return fence == kind || (reach(fence) < std::ssize(kByReach) && reach(fence) >= reach(kind));
}

}  // namespace

std::optional<std::string> fence_kind(const llvm::Instruction& instruction) {
  if (auto* fence = llvm::dyn_cast<llvm::FenceInst>(&instruction)) {
    std::string text;
    llvm::raw_string_ostream(text) << *fence;
    return text.substr(text.find_first_not_of(' '));
  }
  auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  auto* callee = call ? call->getCalledFunction() : nullptr;
  if (!callee || !callee->isIntrinsic()) return std::nullopt;
  const auto name = callee->getName();
  return name.contains("membar") || name.contains("fence") ? std::optional(name.str()) : std::nullopt;
}

std::set<std::string> unfenced(const llvm::Function& kernel, const TouchedObjects& touched) {
  std::set<std::string> kinds, pairs;
  for (auto& instruction : llvm::instructions(kernel))
    if (auto kind = fence_kind(instruction)) kinds.insert(*kind);
  if (kinds.empty()) return pairs;
  llvm::DenseMap<const llvm::Instruction*, std::set<std::string>> known;
  for (auto& instruction : llvm::instructions(kernel))
    if (auto objects = touched(instruction); !objects.empty()) known[&instruction] = std::move(objects);
  for (auto& kind : kinds) {
    llvm::DenseMap<const llvm::BasicBlock*, std::set<std::string>> before;
    for (bool more = true; more;) {
      more = false;
      for (auto& block : kernel) {
        std::set<std::string> since = before[&block];
        for (auto& instruction : block) {
          if (auto fence = fence_kind(instruction); fence && is_as_strong(*fence, kind)) since.clear();
          auto found = known.find(&instruction);
          if (found == known.end()) continue;
          for (auto& first : since)
            for (auto& second : found->second)
              if (first != second) pairs.insert(first + ", " + second + " by " + kind);
          since.insert(found->second.begin(), found->second.end());
        }
        for (auto* next : llvm::successors(&block)) {
          auto& into = before[next];
          const size_t size = into.size();
          into.insert(since.begin(), since.end());
          more |= into.size() > size;
        }
      }
    }
  }
  return pairs;
}

}  // namespace kernelift
