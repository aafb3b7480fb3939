// hipCUB is CUB under another name, and the toolkit has CUB.
#pragma once
#include <hip/hip_runtime.h>
#include <cub/cub.cuh>
namespace hipcub = cub;
#define HIPCUB_RUNTIME_FUNCTION CUB_RUNTIME_FUNCTION
