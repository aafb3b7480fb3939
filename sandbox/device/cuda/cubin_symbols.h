// The variables that a cubin defines, by its ELF symbol table: the driver answers for a variable only if asked by name.
// Reads bytes that may come from anywhere (a user's nvcc, a cache): every offset is checked.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace kernelift {

struct CubinVariable {
  std::string name;
  uint64_t size = 0;
  bool constant = false;
  bool local = false;  ///< Bound to its unit: a static.
};

bool is_cubin(std::string_view image);
/// An Error says what is damaged. PTX text has its .global and .const declarations read instead.
Result<std::vector<CubinVariable>> variables_of_image(std::string_view image);

}  // namespace kernelift
