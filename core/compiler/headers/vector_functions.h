// make_* functions.
#pragma once
#include "kernelift/types/make_vectors.h"
