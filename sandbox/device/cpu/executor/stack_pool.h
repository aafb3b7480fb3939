// Stacks for fibers: one mapping for a whole block's threads, a guard page below each, kept for the next block that
// asks for the same shape.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

namespace kernelift::cpu {

class StackSlab {
 public:
  /// nullptr if the system refuses the memory.
  static std::unique_ptr<StackSlab> take(uint32_t stacks, size_t bytes);
  /// Hands the slab back to the pool.
  static void give_back(std::unique_ptr<StackSlab> slab);
  ~StackSlab();

  /// Highest address of a stack; stacks grow down. Neighbours' tops fall into different cache sets.
  void* top(uint32_t index) const;
  size_t bytes() const { return bytes_; }

 private:
  StackSlab(char* base, size_t stride, size_t bytes, uint32_t stacks)
      : base_(base), stride_(stride), bytes_(bytes), stacks_(stacks) {}
  char* base_;
  size_t stride_, bytes_;
  uint32_t stacks_;
};

}  // namespace kernelift::cpu
