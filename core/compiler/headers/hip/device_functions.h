// HIP: device functions come with the runtime header.
#pragma once
#include "hip_runtime.h"
