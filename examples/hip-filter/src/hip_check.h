// A HIP error ends the program.
#pragma once
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

#define HIP_CHECK(call)                                                                                    \
  do {                                                                                                     \
    hipError_t error = (call);                                                                             \
    if (error != hipSuccess) {                                                                             \
      std::fprintf(stderr, "%s:%d: %s failed: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(error)); \
      std::exit(2);                                                                                        \
    }                                                                                                      \
  } while (0)
