// The GPU's clocks held at one frequency while something is measured, on the user's explicit wish only. A small process
// holds them: it lives as long as the lock, sees when this process ends, however that happens (kill -9 included), and
// gives the clocks back to the driver. Who locks is behind a seam, so that this is tested without touching any GPU.
#pragma once
#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "core/base/result.h"

namespace kernelift {

class ClockControl {
 public:
  virtual ~ClockControl() = default;
  /// An Error leaves the clocks as they were.
  virtual Status lock() = 0;
  virtual void reset() = 0;
};
/// Called in the holding process, which nothing of ours shares: it may start the driver.
using ClockControlFactory = std::function<Result<std::unique_ptr<ClockControl>>()>;

/// NVML's, for the GPUs of `device` (cuda: all that are visible; cuda:N): the base frequency, which a GPU keeps under
/// any load. An Error says what the machine lacks or does not permit; a Usage error that `device` is none of NVIDIA's.
Result<ClockControlFactory> nvml_clock_control(const std::string& device);

class ClockLock {
 public:
  /// EXPECTS: this process has no threads yet. An Error says why they are not locked.
  static Result<std::unique_ptr<ClockLock>> take(const ClockControlFactory& control);
  ClockLock(const ClockLock&) = delete;
  /// The clocks are the driver's again when this returns.
  ~ClockLock();

 private:
  ClockLock(pid_t holder, int line) : holder_(holder), line_(line) {}
  pid_t holder_;
  int line_;
};

/// For `--lock-clocks`: nullptr where it is not `wanted`.
Result<std::unique_ptr<ClockLock>> lock_clocks(bool wanted, const std::string& device);

}  // namespace kernelift
