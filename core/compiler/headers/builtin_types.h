// The runtime API's types.
#pragma once
#include "cuda_runtime_api.h"
