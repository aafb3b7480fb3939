// As sm_20_atomic_functions.h.
#pragma once
#include "cuda_runtime.h"
