// Limits of a launch that hold for every NVIDIA GPU since Turing (compute capability 7.5): CUDA C++ Programming Guide,
// "Technical Specifications per Compute Capability". HIP devices have the same limit of threads per block; their warps
// may have 64 threads.
#pragma once
#include "core/model/launch/geometry.h"

namespace kernelift {

inline constexpr uint32_t kWarpSize = 32;  ///< Threads.
inline constexpr uint32_t kMostThreadsPerBlock = 1024;
inline constexpr Dim3 kLargestBlock{1024, 1024, 64};           ///< Threads along each axis.
inline constexpr Dim3 kLargestGrid{2147483647, 65535, 65535};  ///< Blocks along each axis.
/// Bytes of static shared memory of a block, and of dynamic shared memory that need not be asked for.
inline constexpr uint32_t kOrdinarySharedBytes = 48 << 10;
inline constexpr uint32_t kOrdinarySharedBytesOfHip = 64 << 10;  ///< All that a HIP device has.

}  // namespace kernelift
