// Device memory that frees itself.
#pragma once
#include <utility>
#include <vector>

#include "cuda_check.h"

namespace heat {

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t count) : count_(count) {
    CUDA_CHECK(cudaMalloc(&data_, count * sizeof(T)));
    CUDA_CHECK(cudaMemset(data_, 0, count * sizeof(T)));
  }
  explicit DeviceArray(const std::vector<T>& from) : DeviceArray(from.size()) { upload(from); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }

  T* get() { return data_; }
  const T* get() const { return data_; }
  size_t size() const { return count_; }

  void upload(const std::vector<T>& from) {
    CUDA_CHECK(cudaMemcpy(data_, from.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  std::vector<T> download() const {
    std::vector<T> to(count_);
    CUDA_CHECK(cudaMemcpy(to.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return to;
  }

 private:
  T* data_ = nullptr;
  size_t count_;
};

}  // namespace heat
