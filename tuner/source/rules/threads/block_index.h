// Which block and thread this is, as kernels spell it: `int i = blockIdx.x * blockDim.x + threadIdx.x;`.
// What rules that change how work is spread over threads have in common.
#pragma once
#include <optional>
#include <string>

#include "tuner/source/rules/kernel_source.h"
#include "tuner/source/rules/rule.h"

namespace kernelift {

inline constexpr const char* kAxisNames[] = {"x", "y", "z"};
uint32_t along(const Dim3& size, int axis);

/// Whether the spelling, casts and parentheses aside, is a thread's global index along the axis.
bool is_global_index(std::string text, int axis);
/// Whether it is the number of the block alone.
bool is_block_number(std::string text, int axis);

struct GlobalIndex {
  int axis = 0;
  const clang::Stmt* statement = nullptr;         ///< `int i = …;` of this variable alone, or `i = …;`, in the outermost block.
  const clang::VarDecl* variable = nullptr;
  const clang::Expr* value = nullptr;
  bool declared = false;                          ///< The statement is of the first kind.
  bool block_alone = false;                       ///< i = blockIdx.y: all threads of a block have the same.
};

/// The kernel's only mention of its place along the axis; nullopt if anything else knows it too, or there is none.
std::optional<GlobalIndex> global_index(const KernelSource& source, const clang::FunctionDecl* kernel, int axis);

}  // namespace kernelift
