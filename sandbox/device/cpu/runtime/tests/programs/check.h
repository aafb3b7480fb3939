// For the programs in this folder: CUDA calls that must succeed, and conditions that must hold; main ends in PASS.
#pragma once
#include <cstdio>
#include <cstdlib>

#define CUDA(call)                                                                               \
  do {                                                                                           \
    cudaError_t error_ = (call);                                                                 \
    if (error_ != cudaSuccess) {                                                                 \
      std::printf("FAIL %s:%d %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error_)); \
      std::exit(1);                                                                              \
    }                                                                                            \
  } while (0)
#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      std::printf("FAIL %s:%d %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                   \
    }                                                                 \
  } while (0)
#define PASS() (std::printf("PASS\n"), 0)

template <class T>
T* on_device(const T* host, int count) {
  T* memory = nullptr;
  CUDA(cudaMalloc((void**)&memory, count * sizeof(T)));
  if (host) CUDA(cudaMemcpy(memory, host, count * sizeof(T), cudaMemcpyHostToDevice));
  return memory;
}
template <class T>
void to_host(T* host, const T* device, int count) {
  CUDA(cudaMemcpy(host, device, count * sizeof(T), cudaMemcpyDeviceToHost));
}
