// make_cudaExtent and its kin.
#pragma once
#include "cuda_runtime_api.h"
