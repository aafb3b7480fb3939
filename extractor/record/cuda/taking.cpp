// See taking.h.
#include "extractor/record/cuda/taking.h"

#include <algorithm>
#include <chrono>

namespace kernelift::record {
namespace {

constexpr auto kIdleWithin = std::chrono::seconds(2);  ///< How long the application may be held up before an image.
constexpr double kLongestRuns = 3;                     ///< A kernel may take so many times what it took before.
constexpr int kMostAbandonedOfAKernel = 3, kMostAbandonedInARow = 10, kMostEndless = 3;

}  // namespace

bool Taking::be_alone(CudaKernel& kernel, const std::string& what, CUcontext context) {
  auto deadline = std::chrono::steady_clock::now() + kIdleWithin;
  if (!gate_.close(deadline)) {
    abandoned(kernel, what, "other threads' calls to the driver did not end within 2 s");
    return false;
  }
  // However this ends: a thread that takes no image is inside the gate again, and others go on.
  struct BackInside {
    Taking* taking;
    ~BackInside() {
      if (taking) taking->be_one_of_many();
    }
  } back{this};
  if (quiescence_.capturing()) return false;
  if (!quiescence_.wait(context, deadline)) {
    abandoned(kernel, what, "the device was not idle within 2 s (a stream may be waiting for the application)");
    return false;
  }
  back.taking = nullptr;
  return true;
}

std::optional<CapturedInstance> Taking::before(Launch launch, CUcontext context) {
  CudaKernel& kernel = launch.kernel;
  std::string what = launch_text(kernel.key, launch.index);
  const KernelCode& code = kernel.codes[context];
  Snapshots::Request request{context, code, {}, what, config_.instance_bytes, config_.all_memory};
  CapturedInstance& instance = request.instance;
  {
    std::lock_guard lock(mutex_);
    if (kernel.mark.empty()) kernel.mark = archive_.mark_of_kernel(kernel.identity);
  }
  instance.id = instance_id(kernel.mark, launch.index);
  instance.kernel = kernel.key, instance.mangled = kernel.mangled, instance.source_stem = code.source_stem;
  instance.unit = code.object;
  instance.launch_index = launch.index, instance.geometry = launch.geometry;
  instance.arguments = std::move(launch.arguments), instance.parameters = kernel.layout;
  instance.settings = std::move(launch.settings);
  Result<Snapshots::Taken> taken = environment_error("out of memory");
  try {
    taken = snapshots_.before(std::move(request), archive_, mutex_);
  } catch (const std::exception&) {}
  if (!taken.ok()) {
    if (taken.error().exit != Exit::Refused)
      abandoned(kernel, what, taken.error().message);  // Refusals are said already.
    return std::nullopt;
  }
  std::lock_guard lock(mutex_);
  for (auto& note : taken->notes) archive_.omit(kernel.key, note);
  return std::move(taken->instance);
}

bool Taking::wait(CudaKernel& kernel, const std::string& what, CUcontext context, double known_us) {
  auto patience = std::max<std::chrono::nanoseconds>(std::chrono::seconds(config_.patience_seconds),
                                                     std::chrono::nanoseconds(int64_t(kLongestRuns * known_us * 1e3)));
  if (quiescence_.wait(context, std::chrono::steady_clock::now() + patience)) return true;
  abandoned(kernel, what,
            "the kernel had not ended within " + std::to_string(patience.count() / 1'000'000'000) +
                " s: it waits for the application, or needs a longer --patience");
  // Each cost as long as the patience, and may be one that waits for what the application does next.
  std::lock_guard lock(mutex_);
  if (!kernel.given_up.exchange(true)) archive_.omit(kernel.key, "so no more images of it are taken");
  if (++endless_ < kMostEndless) return false;
  archive_.omit("everything from " + what,
                "so it was " + std::to_string(endless_) + " times in a row; no more images are taken");
  off_ = true;
  return false;
}

bool Taking::after(CudaKernel& kernel, CapturedInstance& instance, CUcontext context, double known_us) {
  std::string what = launch_text(instance.kernel, instance.launch_index);
  if (!wait(kernel, what, context, known_us)) return false;
  Status status = environment_error("out of memory");
  try {
    status = snapshots_.after(context, instance);
    if (status.ok()) status = archive_.writer().finish_instance(instance);
  } catch (const std::exception&) {}
  if (!status.ok()) {
    std::lock_guard lock(mutex_);
    archive_.stop("everything from " + what, status.error().message);
    off_ = true;
    return false;
  }
  std::lock_guard lock(mutex_);
  abandoned_in_a_row_ = kernel.abandoned_in_a_row = endless_ = 0;
  return true;
}

void Taking::abandoned(CudaKernel& kernel, const std::string& what, const std::string& why) {
  std::lock_guard lock(mutex_);
  archive_.omit(what, why);
  if (++kernel.abandoned_in_a_row >= kMostAbandonedOfAKernel && !kernel.given_up.exchange(true))
    archive_.omit(kernel.key, "so it was " + std::to_string(kMostAbandonedOfAKernel) +
                                  " times in a row; no more images of it are taken");
  if (++abandoned_in_a_row_ < kMostAbandonedInARow) return;
  archive_.omit("everything from " + what,
                "so it was " + std::to_string(abandoned_in_a_row_) + " times in a row; no more images are taken");
  off_ = true;
}

}  // namespace kernelift::record
