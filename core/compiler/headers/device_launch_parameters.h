// Built-in index variables come with cuda_runtime.h.
#pragma once
#include "cuda_runtime.h"
