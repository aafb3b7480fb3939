// What the source says of a kernel, and its prepared IR no longer does.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace llvm {
class CallBase;
class Function;
}  // namespace llvm

namespace kernelift {

struct WrittenFacts {
  /// Lines of what the kernel and the functions it calls say is so (__builtin_assume, __builtin_unreachable). Passes
  /// believe it, and so would a compiler: what is right only if it holds is not right for all parameters.
  std::vector<unsigned> promises;
  std::set<std::string> unmodelled;                    ///< KernelModel::unmodelled.
  std::optional<unsigned> contracted, not_contracted;  ///< Lines of sums and products that may be, and may not be.
  std::optional<uint64_t> most_threads;                ///< Of a block, by its launch bounds.
};

/// A trap, a failed assertion, or the thread's own end.
bool ends_the_launch(const llvm::CallBase& call);

/// EXPECTS: nothing was inlined.
WrittenFacts written_facts(const llvm::Function& kernel);

}  // namespace kernelift
