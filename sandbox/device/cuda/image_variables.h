// The module variables of a GPU image, cubin or PTX: the driver answers for a variable only if asked by name.
#pragma once
#include <string_view>
#include <vector>

#include "core/toolchain/cubin.h"

namespace kernelift {

/// Of a cubin what its symbol table lists; of PTX text its .global and .const declarations. An Error says what is
/// damaged.
Result<std::vector<CubinVariable>> variables_of_image(std::string_view image);

}  // namespace kernelift
