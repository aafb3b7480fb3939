// atomicAdd and its kin.
#pragma once
#include "cuda_runtime.h"
