// See profile.h. The peak rates are measured first, because CUPTI's session slows launches down.
#include "sandbox/device/cuda/counters/profile.h"

#include "sandbox/device/cuda/counters/counters.h"
#include "sandbox/device/cuda/counters/roofline.h"

namespace kernelift::sandbox {

Status profile_launch(int ordinal, const std::function<Status()>& prepare, const std::function<Status()>& launch,
                      KernelFacts& facts) {
  KERNELIFT_ASSIGN(const CudaDriver* driver, CudaDriver::open());
  if (auto peaks = measure_peaks(*driver); peaks.ok()) facts.peaks = *peaks;
  auto session = CounterSession::open(ordinal);
  if (!session.ok()) {
    facts.counters_missing = session.error().message;
    return done();
  }
  // A failure of the caller's functions is an Error; one of CUPTI is the reason why there are no counters.
  Status failed;
  auto noted = [&failed](const std::function<Status()>& step) {
    return [&failed, &step]() -> Status {
      Status status = step();
      if (!status.ok()) failed = status;
      return status;
    };
  };
  if (Status measured = (*session)->measure(noted(prepare), noted(launch), facts); !measured.ok()) {
    if (!failed.ok()) return failed;
    facts.counters_missing = measured.error().message;
  }
  return done();
}

}  // namespace kernelift::sandbox
