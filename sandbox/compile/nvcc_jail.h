// Has nvcc compile candidates in a confined process: nvcc parses their host side as well.
#pragma once
#include "core/compiler/nvcc_image.h"

namespace kernelift {

/// The same options, for sources that are not the user's own: nvcc sees its headers and one private folder, has no
/// network, and so many bytes of address space in each of its processes.
NvccOptions confined(NvccOptions options, uint64_t memory_bytes = 16ull << 30);

}  // namespace kernelift
