// HIP: vector types are CUDA's.
#pragma once
#include "hip_runtime_api.h"
