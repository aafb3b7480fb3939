// What the small CUDA programs here share: every call is checked, and a failure is an exit code of its own.
#pragma once
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                         \
  do {                                                                                      \
    cudaError_t answer = (call);                                                            \
    if (answer != cudaSuccess) {                                                            \
      std::printf("%s:%d %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(answer)); \
      std::exit(70);                                                                        \
    }                                                                                       \
  } while (0)
#define CHECK_DRIVER(call)                                                                \
  do {                                                                                    \
    CUresult answer = (call);                                                             \
    if (answer != CUDA_SUCCESS) {                                                         \
      std::printf("%s:%d %s: driver error %d\n", __FILE__, __LINE__, #call, int(answer)); \
      std::exit(71);                                                                      \
    }                                                                                     \
  } while (0)
