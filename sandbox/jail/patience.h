// How long another process is waited for. What counts is what it works, since on a busy machine it may wait for a core
// far longer than it would take; one that does nothing at all is waited for a few times as long.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <ctime>

namespace kernelift {

class Patience {
 public:
  Patience(pid_t process, std::chrono::nanoseconds limit) : process_(process), limit_(limit), before_(cpu_time()) {}

  /// `waited`: so long by the clock, whatever of that counts.
  bool is_over(std::chrono::nanoseconds waited) const {
    constexpr int kIdle = 5;
    return waited >= limit_ && (waited >= kIdle * limit_ || cpu_time() - before_ >= limit_);
  }

 private:
  /// Of all its threads together; none once it has ended.
  std::chrono::nanoseconds cpu_time() const {
    clockid_t clock = 0;
    timespec used{};
    if (clock_getcpuclockid(process_, &clock) != 0 || clock_gettime(clock, &used) != 0) return {};
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
  }

  pid_t process_;
  std::chrono::nanoseconds limit_, before_;
};

}  // namespace kernelift
