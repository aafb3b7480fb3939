// Refused by name where used.
#pragma once
#include "cuda_runtime.h"
