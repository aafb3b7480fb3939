// The HIP runtime API over CUDA's: names, and a few calls said with others.
#pragma once
#include <cuda_runtime.h>  // Ours or a toolkit's, whichever this compile uses.
#ifndef __HIP_PLATFORM_NVIDIA__
#define __HIP_PLATFORM_NVIDIA__ 1
#endif
#include "hip_version.h"
#include "../kernelift/hip/errors.h"
#include "../kernelift/hip/types.h"
#include "../kernelift/hip/attributes.h"
#include "../kernelift/hip/functions.h"
#include "../kernelift/hip/calls.h"
