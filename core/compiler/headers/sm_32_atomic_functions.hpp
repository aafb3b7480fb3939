// As sm_32_atomic_functions.h.
#pragma once
#include "cuda_runtime.h"
