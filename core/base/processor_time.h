// Processor time, in seconds: what work takes on a busy machine, too.
#pragma once
#include <ctime>

namespace kernelift {

/// Of the thread or process that `clock` belongs to.
inline double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}
/// Of the calling thread.
inline double thread_seconds() { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace kernelift
