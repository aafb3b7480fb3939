// Reads the GPU's clock and whether it is held down, by NVML. Without NVML both are unknown, and no timing is discarded
// for them.
#pragma once
#include <string>

#include "sandbox/device/cuda/nvml/nvml.h"
#include "sandbox/device/device.h"

namespace kernelift::sandbox {

class ClockMonitor {
 public:
  /// `uuid` as the driver returns it.
  explicit ClockMonitor(const unsigned char (&uuid)[16]) : device_(nvml_.device(uuid)) {}
  DeviceClocks sample() const;
  std::string driver_version() const;

 private:
  Nvml nvml_;
  void* device_ = nullptr;
};

}  // namespace kernelift::sandbox
