// make_cudaExtent, make_cudaPos and make_cudaPitchedPtr.
#pragma once
#include "cuda_runtime_api.h"
