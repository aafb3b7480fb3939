// Device IR in the form from which a kernel model is read: one function without calls of its own code, values in
// registers, and loops with one entry and one back edge.
#pragma once
#include <optional>
#include <vector>

#include "core/compiler/model/written_facts.h"
#include "core/model/launch/geometry.h"

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace kernelift {

/// Begins the names of functions that stand for what a variable holds before it is set.
inline constexpr const char* kUnsetValue = "kernelift.unset.";

struct Preparation {
  std::vector<unsigned> overruns;  ///< Lines of accesses beyond the end of a thread's own array; lost on the way.
  WrittenFacts written;
  bool moved_loads = false;  ///< Before stores, which is right if arguments are different memory.
};

Preparation prepare_for_model(llvm::Module& module, llvm::Function& kernel, const std::optional<Dim3>& block);

}  // namespace kernelift
