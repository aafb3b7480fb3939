// See kernel_trace.h. CUPTI's callbacks have no user pointer and are called on any thread, so their results are in
// global variables. Records are read in the layout of our headers' version; newer versions only append members.
#include "sandbox/device/cuda/counters/kernel_trace.h"

#include <cuda.h>
#include <cupti_activity.h>

#include <cstdlib>
#include <mutex>

#include "core/toolchain/cuda_driver.h"
#include "sandbox/device/cuda/counters/cupti_library.h"

namespace kernelift::sandbox {
namespace {

constexpr size_t kBufferBytes = 1 << 20;  // Some thousands of launches.

struct Activity {
  const CuptiLibrary* library = nullptr;
  decltype(&::cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&::cuptiActivityEnable) enable = nullptr;
  decltype(&::cuptiActivityDisable) disable = nullptr;
  decltype(&::cuptiActivityFlushAll) flush = nullptr;
  decltype(&::cuptiActivityGetNextRecord) next = nullptr;
  static Result<const Activity*> open();
};

std::mutex seen_mutex;
std::vector<std::pair<std::string, double>> seen;
decltype(&::cuptiActivityGetNextRecord) next_record = nullptr;

void CUPTIAPI buffer_requested(uint8_t** buffer, size_t* size, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *size = *buffer ? kBufferBytes : 0;
  *most_records = 0;
}

void CUPTIAPI buffer_completed(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  std::lock_guard lock(seen_mutex);
  for (CUpti_Activity* record = nullptr; buffer && next_record(buffer, valid, &record) == CUPTI_SUCCESS;) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
    auto& kernel = *reinterpret_cast<const CUpti_ActivityKernel10*>(record);
    if (kernel.name && kernel.end > kernel.start)
      seen.emplace_back(kernel.name, static_cast<double>(kernel.end - kernel.start) * 1e-9);
  }
  std::free(buffer);
}

Result<const Activity*> Activity::open() {
  static const auto opened = []() -> Result<Activity> {
    Activity activity;
    KERNELIFT_ASSIGN(activity.library, CuptiLibrary::open());
    KERNELIFT_TRY(activity.library->look_up("cuptiActivityRegisterCallbacks", activity.register_callbacks));
    KERNELIFT_TRY(activity.library->look_up("cuptiActivityEnable", activity.enable));
    KERNELIFT_TRY(activity.library->look_up("cuptiActivityDisable", activity.disable));
    KERNELIFT_TRY(activity.library->look_up("cuptiActivityFlushAll", activity.flush));
    KERNELIFT_TRY(activity.library->look_up("cuptiActivityGetNextRecord", activity.next));
    next_record = activity.next;
    KERNELIFT_TRY(activity.library->check(activity.register_callbacks(buffer_requested, buffer_completed),
                                          "hand over activity records"));
    return activity;
  }();
  if (!opened.ok()) return opened.error();
  return &*opened;
}

}  // namespace

Result<std::vector<double>> trace_kernel(const std::string& name, const std::function<Status()>& work) {
  KERNELIFT_ASSIGN(const CudaDriver* driver, CudaDriver::open());
  KERNELIFT_ASSIGN(const Activity* activity, Activity::open());
  KERNELIFT_TRY(activity->library->check(activity->enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "trace kernels"));
  Status worked = work();
  // If `work` only polled an event, CUPTI does not know yet that the launches have ended.
  if (worked.ok()) driver->cuCtxSynchronize();
  activity->flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  activity->disable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  KERNELIFT_TRY(std::move(worked));
  std::lock_guard lock(seen_mutex);
  std::vector<double> seconds;
  for (auto& [kernel, each] : seen)
    if (kernel == name) seconds.push_back(each);
  seen.clear();
  return seconds;
}

}  // namespace kernelift::sandbox
