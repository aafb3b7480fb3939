// ClockControl by NVML. The CUDA driver identifies the GPUs, because NVML numbers them differently and ignores
// CUDA_VISIBLE_DEVICES; it is initialised only in the holding process, and no context is made.
#include <cstdlib>
#include <vector>

#include "core/toolchain/cuda_driver.h"
#include "sandbox/device/cuda/clock_lock.h"
#include "sandbox/device/cuda/nvml/nvml.h"

namespace kernelift::sandbox {
namespace {

// The clock that the power limit allows under any load, called base clock in datasheets (nvidia-smi -lgc base).
constexpr unsigned kBaseClock = 0xffffff01;
constexpr int kNoPermission = 4;  // NVML_ERROR_NO_PERMISSION

class NvmlClockControl : public ClockControl {
 public:
  static Result<std::unique_ptr<ClockControl>> open(int ordinal) {
    auto control = std::make_unique<NvmlClockControl>();
    KERNELIFT_ASSIGN(const CudaDriver* driver, CudaDriver::open());
    auto good = [&](CUresult result, const char* what) {
      return result == CUDA_SUCCESS
                 ? done()
                 : Status(environment_error(std::string(what) + ": " + cuda_error_text(*driver, result)));
    };
    KERNELIFT_TRY(good(driver->cuInit(0), "the NVIDIA driver does not start"));
    int count = 0;
    KERNELIFT_TRY(good(driver->cuDeviceGetCount(&count), "cannot count GPUs"));
    if (ordinal >= count)
      return environment_error("there is no GPU " + std::to_string(ordinal) + "; this machine has " +
                               std::to_string(count) + " (nvidia-smi -L lists them)");
    if (!control->nvml_.ok())
      return environment_error(
          "--lock-clocks needs NVML, and libnvidia-ml.so.1, which comes with NVIDIA's driver, does not start");
    for (int i = std::max(ordinal, 0); i < (ordinal < 0 ? count : ordinal + 1); ++i) {
      CUdevice device = 0;
      CUuuid uuid{};
      KERNELIFT_TRY(good(driver->cuDeviceGet(&device, i), "cannot open the GPU"));
      KERNELIFT_TRY(good(driver->cuDeviceGetUuid(&uuid, device), "cannot tell which GPU it is"));
      unsigned char bytes[16];
      std::copy(std::begin(uuid.bytes), std::end(uuid.bytes), bytes);
      void* known = control->nvml_.device(bytes);
      if (!known)
        return environment_error("NVML does not know GPU " + std::to_string(i) + ", so its clocks cannot be locked");
      control->devices_.push_back(known);
    }
    return std::unique_ptr<ClockControl>(std::move(control));
  }

  Status lock() override {
    auto set = nvml_.function<int (*)(void*, unsigned, unsigned)>("nvmlDeviceSetGpuLockedClocks");
    for (size_t i = 0; i < devices_.size(); ++i) {
      int code = set ? set(devices_[i], kBaseClock, kBaseClock) : -1;
      if (code == 0) continue;
      devices_.resize(i);
      reset();
      if (code == kNoPermission)
        return environment_error(
            "this user may not lock the GPU's clocks (--lock-clocks): run as root, have an administrator lock them "
            "(nvidia-smi -lgc base), or omit --lock-clocks");
      return environment_error("this GPU's clocks cannot be locked (--lock-clocks): " +
                               (set ? nvml_.text(code) : std::string("the driver is too old")) +
                               "; omit --lock-clocks");
    }
    return done();
  }

  void reset() override {
    auto reset = nvml_.function<int (*)(void*)>("nvmlDeviceResetGpuLockedClocks");
    for (void* device : devices_)
      if (reset) reset(device);
  }

 private:
  Nvml nvml_;
  std::vector<void*> devices_;
};

}  // namespace

Result<ClockControlFactory> nvml_clock_control(const std::string& device) {
  int ordinal = -1;
  if (device.starts_with("cuda:")) ordinal = std::atoi(device.c_str() + 5);
  else if (device != "cuda" && device != "auto")
    return usage_error("--lock-clocks is for NVIDIA's GPUs, not for --device " + device);
  return ClockControlFactory([ordinal] { return NvmlClockControl::open(ordinal); });
}

}  // namespace kernelift::sandbox
