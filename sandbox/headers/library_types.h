// The runtime API's types, and those that NVIDIA's libraries share.
#pragma once
#include "cuda_runtime_api.h"

typedef enum libraryPropertyType_t { MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL } libraryPropertyType;
