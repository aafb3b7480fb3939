// The older header: the primitives only, without the class on top of them.
#pragma once
#include "cuda_pipeline_primitives.h"
