// Confines nvcc when it compiles candidates, because nvcc also parses their host code.
#pragma once
#include "core/compiler/nvcc_image.h"

namespace kernelift::sandbox {

/// The same options for sources that the user did not write: nvcc may read its headers and write in one private folder,
/// has no network, and each of its processes may use `memory_bytes` of address space.
NvccOptions confined(NvccOptions options, uint64_t memory_bytes = 16ull << 30);

}  // namespace kernelift::sandbox
