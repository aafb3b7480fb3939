// HIP: bfloat16.
#pragma once
#include "hip_bf16.h"
typedef __nv_bfloat16 hip_bfloat16;
