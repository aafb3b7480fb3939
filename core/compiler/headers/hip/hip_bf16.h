// HIP: bfloat16 is CUDA's under other names.
#pragma once
#include "hip_runtime.h"
#include <cuda_bf16.h>
typedef __nv_bfloat16 __hip_bfloat16;
typedef __nv_bfloat162 __hip_bfloat162;
