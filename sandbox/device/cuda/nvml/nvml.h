// NVML, opened at run time: the GPU's clocks and its driver's version. Its C interface is small and stable; the few
// functions that are used are declared where they are, so that no header of NVIDIA's is needed.
#pragma once
#include <string>

namespace kernelift {

class Nvml {
 public:
  Nvml();  ///< Without the library, or a driver that answers, every question has no answer.
  ~Nvml();
  Nvml(const Nvml&) = delete;

  bool ok() const { return initialised_; }
  /// `uuid` as the driver gives it, 16 bytes: ordinals of NVML and CUDA differ. nullptr: NVML does not know it.
  void* device(const unsigned char (&uuid)[16]) const;
  /// Null where this version lacks it.
  template <class F>
  F function(const char* name) const {
    return reinterpret_cast<F>(symbol(name));
  }
  /// "Insufficient Permissions"
  std::string text(int code) const;

 private:
  void* symbol(const char* name) const;
  void* library_ = nullptr;
  bool initialised_ = false;
};

}  // namespace kernelift
