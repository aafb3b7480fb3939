// The GPU's clock and whether something holds it down, by NVML. Reads only. Without NVML every answer is "unknown", and
// timings go on without being discarded.
#pragma once
#include <string>

#include "sandbox/device/cuda/nvml/nvml.h"
#include "sandbox/device/device.h"

namespace kernelift {

class ClockMonitor {
 public:
  /// `uuid` as the driver gives it.
  explicit ClockMonitor(const unsigned char (&uuid)[16]) : device_(nvml_.device(uuid)) {}
  DeviceClocks sample() const;
  std::string driver_version() const;

 private:
  Nvml nvml_;
  void* device_ = nullptr;
};

}  // namespace kernelift
