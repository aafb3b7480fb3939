// HIP sources compiled as CUDA: the runtime API's names and the device language's differences.
#pragma once
#include "hip_runtime_api.h"
#include "../kernelift/hip/device.h"
#include "../kernelift/hip/vectors.h"
