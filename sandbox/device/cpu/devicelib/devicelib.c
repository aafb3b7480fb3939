// The device library's one translation unit: compiled to bitcode at build time and embedded in kernelift_lower. Names
// and types are libdevice's (`__nv_*`) and NVVM's (`__nvvm_*`: llvm.nvvm.a.b is __nvvm_a_b). Functions call libm or
// LLVM's own intrinsics, which vectorise; nothing here keeps state. Rounding modes other than to nearest go through
// MXCSR. What CUDA calls fast or approximate is as far off as it documents (approximate.h).
#include "common.h"

#include "integer.h"
#include "convert.h"
#include "rounding.h"
#include "elementary.h"
#include "math_double.h"
#include "math_float.h"
#include "approximate.h"
#include "special.h"
#include "nvvm.h"
#include "texture.h"
#include "access_notes.h"
