// The HIP runtime API over CUDA's (DESIGN D11): names only, no code of its own.
#pragma once
#ifndef __HIP_PLATFORM_NVIDIA__
#define __HIP_PLATFORM_NVIDIA__ 1
#endif
#include <cuda_runtime.h>  // Ours or a toolkit's, whichever this compile uses.
#include "hip_version.h"
#include "../kernelift/hip/errors.h"
#include "../kernelift/hip/types.h"
#include "../kernelift/hip/functions.h"
