// A time limit for another process, in CPU time, because on a busy machine a process may wait for a core for much
// longer than its work takes. A process that uses no CPU time is given five times the limit by the clock.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <ctime>

namespace kernelift::sandbox {

class CpuTimeLimit {
 public:
  CpuTimeLimit(pid_t process, std::chrono::nanoseconds limit) : process_(process), limit_(limit), before_(cpu_time()) {}

  /// True if the process has exceeded the limit; `waited` is the time waited for it by the clock, less pauses.
  bool is_over(std::chrono::nanoseconds waited) const {
    constexpr int kIdle = 5;  // Multiple of the limit, by the clock, for a process that uses little CPU time.
    return waited >= limit_ && (waited >= kIdle * limit_ || cpu_time() - before_ >= limit_);
  }

 private:
  /// CPU time of all its threads; 0 once it has ended.
  std::chrono::nanoseconds cpu_time() const {
    clockid_t clock = 0;
    timespec used{};
    if (clock_getcpuclockid(process_, &clock) != 0 || clock_gettime(clock, &used) != 0) return {};
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
  }

  pid_t process_;
  std::chrono::nanoseconds limit_, before_;
};

}  // namespace kernelift::sandbox
