// Cooperative groups: memcpy_async.
#pragma once
#include "../cooperative_groups.h"
#if defined(__CUDA__) && defined(__clang__)
#include "../kernelift/groups/copy.h"
#endif
