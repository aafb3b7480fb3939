// The module variables of a GPU image, cubin or PTX, because the driver finds a variable only by its name.
#pragma once
#include <string_view>
#include <vector>

#include "core/toolchain/cubin.h"

namespace kernelift::sandbox {

/// From a cubin's symbol table, or from the .global and .const declarations of PTX text. An Error says what is damaged.
Result<std::vector<CubinVariable>> variables_of_image(std::string_view image);

}  // namespace kernelift::sandbox
