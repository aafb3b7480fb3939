// NVTX without a profiler.
#pragma once
#include "nvtx3/nvToolsExt.h"
