// Floats that a function carries as integers: loaded and stored by fours, cast to bits for a shuffle between lanes or
// an atomic exchange, and back. Optimisers make such code of plain copies.
#pragma once
#include <llvm/ADT/DenseSet.h>

#include "cmake/headers/llvm.h"

namespace kernelift::cpu {

constexpr unsigned kWordBits = 32;

class CarriedBits {
 public:
  explicit CarriedBits(llvm::Function& function);

  /// An integer, of whole 32-bit words, that may be bits of floats, and is stored or made floats again somewhere.
  bool carries(const llvm::Value* value) const { return carried_.contains(value); }
  /// Whether it is also used as the number that the bits are.
  bool is_used(const llvm::Value* value) const;

  /// 32-bit words of an integer type or a vector of such; 0: none, or no whole ones.
  static unsigned words(const llvm::Type* type);

 private:
  static bool is_carrier(const llvm::Instruction& instruction);
  bool is_source(const llvm::Instruction& instruction) const;
  static bool is_target(const llvm::Use& use);

  llvm::DenseSet<const llvm::Value*> carried_;
};

/// A service call by which lanes of a warp exchange 32 bits.
bool is_shuffle(const llvm::Instruction& instruction);

}  // namespace kernelift::cpu
