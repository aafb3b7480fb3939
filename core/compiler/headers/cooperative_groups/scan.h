// Cooperative groups: scan.
#pragma once
#include "../cooperative_groups.h"
#if defined(__CUDA__) && defined(__clang__)
#include "../kernelift/groups/collectives.h"
#endif
