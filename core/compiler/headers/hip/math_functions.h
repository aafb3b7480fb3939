// HIP: device mathematics comes with the runtime header.
#pragma once
#include "hip_runtime.h"
