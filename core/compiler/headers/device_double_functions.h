// __hiloint2double and related functions.
#pragma once
#include "cuda_runtime.h"
