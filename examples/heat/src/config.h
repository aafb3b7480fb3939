// Block sizes and limits. The block sizes are used by the kernels and by their launches: change them here only.
#pragma once

// Threads of a block in the grid kernels.
#define BLOCK_X 8
#define BLOCK_Y 4
#define BLOCK_Z 4

namespace heat {

// Threads of a block in the vector kernels.
constexpr int kVectorBlock = 128;
// Threads of a block in the reductions: a power of two.
constexpr int kReduceBlock = 128;
// Entries of the constant tables.
constexpr int kMaxMaterials = 8;
constexpr int kMaxSources = 12;

}  // namespace heat
