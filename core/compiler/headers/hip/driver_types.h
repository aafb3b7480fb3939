// HIP: the runtime API's types.
#pragma once
#include "hip_runtime_api.h"
