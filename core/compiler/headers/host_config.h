// What the host compiler must be: any.
#pragma once
#include "crt/host_defines.h"
