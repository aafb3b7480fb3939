// What nvcc includes before a source's first line: qualifiers, vector types, the runtime API with its C++ forms, and in
// a device compiler's hands the whole device language. Our own text, from CUDA's public documentation; it is read by
// clang in both passes, and by plain host compilers for the runtime API.
#pragma once
#include "kernelift/version.h"
#include "kernelift/qualifiers.h"

#if defined(__CUDA__) && defined(__clang__)
#include <__clang_cuda_math_forward_declares.h>
#endif
#ifdef __cplusplus
#include <cmath>
#include <cstdlib>
#endif
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernelift/types/make_vectors.h"
#include "cuda_runtime_api.h"
#include "library_types.h"
#ifdef __cplusplus
#include "kernelift/runtime/templates.h"
#endif

#if defined(__CUDA__) && defined(__clang__)
#include "kernelift/device/builtins.h"
#include "kernelift/device/math.h"
#include "kernelift/device/sync.h"
#include "kernelift/device/warp.h"
#include "kernelift/device/atomics.h"
#include "kernelift/device/nv_atomics.h"
#include "kernelift/device/cache.h"
#include "kernelift/device/bits.h"
#include "kernelift/device/words.h"
#include "kernelift/device/dpx.h"
#include "kernelift/device/host_math.h"
#include "kernelift/device/min_max.h"
#include "kernelift/device/texture.h"
#endif

#ifdef __cplusplus
#include <new>  // Last: clang's wrapper defines device new and delete by the device's malloc and free.
#endif
