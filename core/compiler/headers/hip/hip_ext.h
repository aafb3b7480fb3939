// HIP: AMD's extensions that are macros over the API.
#pragma once
#include "hip_runtime.h"
#define hipExtLaunchKernelGGL(kernel, grid, block, shared, stream, start, stop, flags, ...) \
  do {                                                                                      \
    if (start) cudaEventRecord(start, stream);                                              \
    kernel<<<grid, block, shared, stream>>>(__VA_ARGS__);                                   \
    if (stop) cudaEventRecord(stop, stream);                                                \
  } while (0)
