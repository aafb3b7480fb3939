// NVML, opened at run time: the GPU's clocks and its driver's version. Its C interface is small and stable; the few
// functions that are used are declared where they are called, so that NVIDIA's header is not needed.
#pragma once
#include <string>

namespace kernelift::sandbox {

class Nvml {
 public:
  Nvml();  ///< ok() is false if the library is missing or does not start.
  ~Nvml();
  Nvml(const Nvml&) = delete;

  bool ok() const { return initialised_; }
  /// The handle of the GPU with this UUID, as the driver returns it, because NVML's and CUDA's ordinals differ.
  /// nullptr: NVML does not know the GPU.
  void* device(const unsigned char (&uuid)[16]) const;
  /// Null if this version of NVML lacks the function.
  template <class F>
  F function(const char* name) const {
    return reinterpret_cast<F>(symbol(name));
  }
  /// The text of an error code: "Insufficient Permissions".
  std::string text(int code) const;

 private:
  void* symbol(const char* name) const;
  void* library_ = nullptr;
  bool initialised_ = false;
};

}  // namespace kernelift::sandbox
