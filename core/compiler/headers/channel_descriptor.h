// Channel descriptions.
#pragma once
#include "cuda_runtime_api.h"
