// Qualifiers.
#pragma once
#include "../kernelift/qualifiers.h"
