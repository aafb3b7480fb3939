// What a GPU image (a cubin, an ELF file of NVIDIA's machine) says about itself in its symbol table: its kernels and
// its module variables, static ones included. Reads bytes that a driver or a compiler made; trusts none of its offsets.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace kernelift {

struct CubinVariable {
  std::string name;
  uint64_t size = 0;
  bool constant = false, managed = false;
};

struct CubinSymbols {
  std::vector<std::string> kernels;
  std::vector<CubinVariable> variables;  ///< Without the compiler's own (string literals, jump tables).
  /// Kernels whose code reads or writes by the texture unit, and whether a function that is no kernel does. By the
  /// instruction encoding of Volta and later.
  std::vector<std::string> texture_kernels;
  bool texture_functions = false;
};

Result<CubinSymbols> read_cubin(std::span<const std::byte> image);

}  // namespace kernelift
