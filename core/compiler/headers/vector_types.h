// Vector types.
#pragma once
#include "kernelift/types/vectors.h"
