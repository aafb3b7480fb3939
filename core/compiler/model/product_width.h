// In how many bits a kernel computes its products. A model reads integers as if they never overflowed, which C++ says
// of the original's signed ones; a candidate that computes in 32 bits what the original computes in 64 may overflow
// where the original does not.
#pragma once
#include <set>
#include <string>

namespace llvm {
class Function;
}

namespace kernelift {

/// Of products of two values that are no constants, the parameters in them: "arg.a1", "arg.a1 * arg.a3".
struct ProductWidths {
  std::set<std::string> narrow;  ///< Of at most 32 bits.
  std::set<std::string> wide;
};

/// EXPECTS: `kernel` went through prepare_for_model().
ProductWidths product_widths(const llvm::Function& kernel);

}  // namespace kernelift
