// As sm_32_intrinsics.h.
#pragma once
#include "cuda_runtime.h"
