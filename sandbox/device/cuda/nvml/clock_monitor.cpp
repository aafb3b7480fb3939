// See clock_monitor.h.
#include "sandbox/device/cuda/nvml/clock_monitor.h"

namespace kernelift::sandbox {
namespace {

constexpr int kClockSm = 1;
// The reasons for which a clock is held below its maximum.
constexpr struct {
  unsigned long long bit;
  const char* name;
} kSlow[] = {{0x4, "power cap"},         {0x8, "hardware slowdown"},          {0x10, "sync boost"},
             {0x20, "thermal slowdown"}, {0x40, "hardware thermal slowdown"}, {0x80, "power brake"}};

}  // namespace

std::string ClockMonitor::driver_version() const {
  auto version = nvml_.function<int (*)(char*, unsigned)>("nvmlSystemGetDriverVersion");
  char text[96] = {};
  return nvml_.ok() && version && version(text, sizeof text) == 0 ? text : "";
}

DeviceClocks ClockMonitor::sample() const {
  DeviceClocks clocks;
  if (!device_) return clocks;
  using Reasons = int (*)(void*, unsigned long long*);
  static const auto clock = nvml_.function<int (*)(void*, int, unsigned*)>("nvmlDeviceGetClockInfo");
  static const auto current = nvml_.function<Reasons>("nvmlDeviceGetCurrentClocksEventReasons");
  static const auto reasons = current ? current : nvml_.function<Reasons>("nvmlDeviceGetCurrentClocksThrottleReasons");
  unsigned megahertz = 0;
  if (clock && clock(device_, kClockSm, &megahertz) == 0) clocks.megahertz = megahertz;
  unsigned long long bits = 0;
  if (reasons && reasons(device_, &bits) == 0)
    for (auto& slow : kSlow)
      if (bits & slow.bit) {
        clocks.throttled = true;
        clocks.why += (clocks.why.empty() ? "" : ", ") + std::string(slow.name);
      }
  return clocks;
}

}  // namespace kernelift::sandbox
