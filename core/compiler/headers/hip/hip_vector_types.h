// HIP: vector types are CUDA's, with operators.
#pragma once
#include "hip_runtime_api.h"
#include "../kernelift/hip/vectors.h"
