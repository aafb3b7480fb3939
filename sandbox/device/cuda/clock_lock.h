// Locks the GPU's clocks to one frequency during measurements, only if the user requests it (--lock-clocks). A small
// process holds the lock: it notices when this process ends, for any reason (kill -9 included), and resets the clocks.
// The locking itself is behind the interface ClockControl, so that tests need no GPU.
#pragma once
#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "core/base/result.h"

namespace kernelift::sandbox {

class ClockControl {
 public:
  virtual ~ClockControl() = default;
  /// An Error leaves the clocks as they were.
  virtual Status lock() = 0;
  virtual void reset() = 0;
};
/// Called in the holding process, which may therefore initialise the driver.
using ClockControlFactory = std::function<Result<std::unique_ptr<ClockControl>>()>;

/// Locks by NVML, for the GPUs of `device` (cuda: all visible ones; cuda:N), to the base frequency, which a GPU keeps
/// under any load. An Error says what the machine lacks or does not permit; a Usage error: `device` is not an NVIDIA
/// GPU.
Result<ClockControlFactory> nvml_clock_control(const std::string& device);

class ClockLock {
 public:
  /// EXPECTS: this process has no other threads. An Error says why the clocks are not locked.
  static Result<std::unique_ptr<ClockLock>> take(const ClockControlFactory& control);
  ClockLock(const ClockLock&) = delete;
  /// The clocks have been reset when this returns.
  ~ClockLock();

 private:
  ClockLock(pid_t holder, int socket) : holder_(holder), socket_(socket) {}
  pid_t holder_;
  int socket_;
};

/// For `--lock-clocks`: nullptr if not `wanted`.
Result<std::unique_ptr<ClockLock>> lock_clocks(bool wanted, const std::string& device);

}  // namespace kernelift::sandbox
