// Forced in before a source that is compiled by clang against the toolkit's headers: what nvcc predeclares and clang's
// wrapper does not. Host overloads of min and max, nvcc's atomic builtins, stores with cache hints.
#pragma once
// isfinite and its like, of the host, in the global namespace too: clang's wrapper has <cmath> alone. The other two are
// in nvcc's own headers, so that a program may call clock() and memset() without asking for them.
#include <math.h>
#include <string.h>
#include <time.h>
#include "device/toolkit_min_max.h"
#include "device/cache_stores.h"
#include "device/nv_atomics.h"

// Clusters of blocks: cooperative_groups.h offers them to nvcc, and to whoever says that the intrinsics are there.
// clang's header has them.
#define _CG_CLUSTER_INTRINSICS_AVAILABLE 1
