// Profiler start and stop.
#pragma once
#include "cuda_runtime_api.h"
