// NVML's C interface is small and stable: its few functions are declared here, so that no header of NVIDIA's is needed.
#include "sandbox/device/cuda/clock_monitor.h"

#include <dlfcn.h>

#include <cstdio>

namespace kernelift {
namespace {

using Code = int;  // nvmlReturn_t; 0 is success.
constexpr int kClockSm = 1;
// Reasons that mean "slower than it could be": power cap, hardware and thermal slowdown, power brake, sync boost.
constexpr struct {
  unsigned long long bit;
  const char* name;
} kSlow[] = {{0x4, "power cap"},           {0x8, "hardware slowdown"},         {0x10, "sync boost"},
             {0x20, "thermal slowdown"},   {0x40, "hardware thermal slowdown"}, {0x80, "power brake"}};

template <class F>
F find(void* library, const char* name, const char* other = nullptr) {
  void* symbol = dlsym(library, name);
  if (!symbol && other) symbol = dlsym(library, other);
  return reinterpret_cast<F>(symbol);
}

}  // namespace

ClockMonitor::ClockMonitor(const unsigned char (&uuid)[16]) {
  library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library_) return;
  auto init = find<Code (*)()>(library_, "nvmlInit_v2");
  auto by_uuid = find<Code (*)(const char*, void**)>(library_, "nvmlDeviceGetHandleByUUID");
  auto version = find<Code (*)(char*, unsigned)>(library_, "nvmlSystemGetDriverVersion");
  if (!init || !by_uuid || init() != 0) return;
  char text[64] = "GPU-";
  int at = 4;
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text[at++] = '-';
    at += std::snprintf(text + at, sizeof text - at, "%02x", uuid[i]);
  }
  if (by_uuid(text, &device_) != 0) device_ = nullptr;
  char driver[96] = {};
  if (version && version(driver, sizeof driver) == 0) driver_version_ = driver;
}

ClockMonitor::~ClockMonitor() {
  if (!library_) return;
  if (auto shutdown = find<Code (*)()>(library_, "nvmlShutdown")) shutdown();
  dlclose(library_);
}

DeviceClocks ClockMonitor::sample() const {
  DeviceClocks clocks;
  if (!device_) return clocks;
  static const auto clock = find<Code (*)(void*, int, unsigned*)>(library_, "nvmlDeviceGetClockInfo");
  static const auto reasons = find<Code (*)(void*, unsigned long long*)>(
      library_, "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons");
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

}  // namespace kernelift
