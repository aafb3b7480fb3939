// Types of the device runtime.
#pragma once
#include "cuda_runtime_api.h"
