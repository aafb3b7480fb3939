// The part of the runtime API that device code may call.
#pragma once
#include "cuda_runtime_api.h"
