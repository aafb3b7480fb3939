// HIP: cooperative groups are CUDA's.
#pragma once
#include "hip_runtime.h"
#include <cooperative_groups.h>
