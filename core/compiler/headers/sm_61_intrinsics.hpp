// As sm_61_intrinsics.h.
#pragma once
#include "cuda_runtime.h"
