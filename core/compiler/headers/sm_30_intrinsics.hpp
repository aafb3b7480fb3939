// As sm_30_intrinsics.h.
#pragma once
#include "cuda_runtime.h"
