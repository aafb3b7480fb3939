// The GPU's clock and whether something holds it down, by NVML, opened at run time. Reads only. Without NVML every answer
// is "unknown", and timings go on without being discarded.
#pragma once
#include <string>

#include "sandbox/device/device.h"

namespace kernelift {

class ClockMonitor {
 public:
  /// `uuid` as the driver gives it, 16 bytes: ordinals of NVML and CUDA differ.
  explicit ClockMonitor(const unsigned char (&uuid)[16]);
  ~ClockMonitor();
  ClockMonitor(const ClockMonitor&) = delete;
  DeviceClocks sample() const;
  std::string driver_version() const { return driver_version_; }

 private:
  void* library_ = nullptr;
  void* device_ = nullptr;
  std::string driver_version_;
};

}  // namespace kernelift
