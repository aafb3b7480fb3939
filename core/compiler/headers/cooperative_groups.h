// Cooperative groups: blocks, grids, tiles and coalesced groups. Device code only: host code sees an empty namespace.
#pragma once
#include "cuda_runtime.h"
#if defined(__CUDA__) && defined(__clang__)
#include "kernelift/groups/tiles.h"
#else
namespace cooperative_groups {}
#endif
