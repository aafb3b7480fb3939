// Shared by the case programs: checked calls, driver entry points without linking libcuda, and a common way to end. A
// program prints what it computed (the output with and without the recorder is compared) and ends with OK and exit code
// 0, or WRONG and 1.
#pragma once
#include <cuda.h>
#include <cuda_runtime.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#define CUDA(call)                                                                            \
  do {                                                                                        \
    cudaError_t answer_ = (call);                                                             \
    if (answer_ != cudaSuccess) {                                                             \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(answer_)); \
      std::exit(1);                                                                           \
    }                                                                                         \
  } while (0)
#define DRIVER(call)                                                                        \
  do {                                                                                      \
    CUresult answer_ = (call);                                                              \
    if (answer_ != CUDA_SUCCESS) {                                                          \
      std::printf("%s:%d: %s: driver error %d\n", __FILE__, __LINE__, #call, int(answer_)); \
      std::exit(1);                                                                         \
    }                                                                                       \
  } while (0)

/// A driver function by name, in the version that this toolkit's headers declare: DRIVER(driver(cuMemCreate)(…)).
template <class Function>
Function* driver_function(const char* name, Function*) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult how;
  CUDA(cudaGetDriverEntryPointByVersion(name, &found, CUDA_VERSION, cudaEnableDefault, &how));
  if (!found) {
    std::printf("the driver has no %s\n", name);
    std::exit(1);
  }
  return reinterpret_cast<Function*>(found);
}
#define driver(name) driver_function(#name, static_cast<decltype(&::name)>(nullptr))

template <class T>
T* device_array(const std::vector<T>& values) {
  T* address = nullptr;
  CUDA(cudaMalloc(&address, values.size() * sizeof(T)));
  CUDA(cudaMemcpy(address, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return address;
}

template <class T>
std::vector<T> host_copy(const T* address, size_t count) {
  std::vector<T> values(count);
  CUDA(cudaMemcpy(values.data(), address, count * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}

inline std::vector<float> ramp(size_t count, float step = 0.25f) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = step * float(i % 1000) - 17;
  return values;
}

/// Prints the FNV-1a hash of the bytes, so that one line shows whether a whole buffer is the same.
template <class T>
void print_hash(const char* what, const std::vector<T>& values) {
  uint64_t hash = 14695981039346656037ull;
  auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
  for (size_t i = 0; i < values.size() * sizeof(T); ++i) hash = (hash ^ bytes[i]) * 1099511628211ull;
  std::printf("%s %016llx\n", what, static_cast<unsigned long long>(hash));
}

inline int end(bool right) {
  std::printf(right ? "OK\n" : "WRONG\n");
  return right ? 0 : 1;
}
