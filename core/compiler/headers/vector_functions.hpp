// make_float4 and its kin.
#pragma once
#include "cuda_runtime_api.h"
