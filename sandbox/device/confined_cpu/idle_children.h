// The children that are not timed, while one is. They should sleep: a candidate's could slow down the original, or work
// at what it will be asked.
#pragma once
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "sandbox/device/confined_cpu/child_process.h"

namespace kernelift::sandbox::confined {

using Children = std::map<uint64_t, std::unique_ptr<ChildProcess>>;  ///< By image.

class IdleChildren {
 public:
  /// From now on it is watched how much of the processor they use.
  IdleChildren(const Children& children, const ChildProcess& timed) {
    for (auto& [image, child] : children)
      if (child && child.get() != &timed) since_.push_back({child.get(), child->cpu_time()});
  }

  /// Stops those that used more than a thread does that wakes up once. `seconds`: for how long they were watched.
  void stop_restless(double seconds) const {
    constexpr double kOnce = 20e-6, kShare = 0.05;
    for (auto& one : since_)
      if (used(one) > kOnce + kShare * seconds) one.first->stop_when_idle();
  }

  /// Waits for the threads of the launch before to go to sleep, which look for further work for a moment. Others that
  /// do not are stopped; what the timed one's use is counted. On a busy machine such threads let others go first, and
  /// use hardly anything.
  static void settle(const Children& children, ChildProcess& timed) {
    using Clock = std::chrono::steady_clock;
    constexpr auto kMoment = std::chrono::microseconds(10), kLongest = std::chrono::microseconds(1000);
    constexpr double kQuiet = 0.25;  // Share of one processor.
    for (const auto begin = Clock::now();;) {
      IdleChildren all(children, timed);
      all.since_.push_back({&timed, timed.cpu_time()});
      const auto from = Clock::now();
      while (Clock::now() - from < kMoment) sched_yield();
      const double most = kQuiet * std::chrono::duration<double>(Clock::now() - from).count();
      if (std::ranges::all_of(all.since_, [&](auto& one) { return used(one) <= most; })) return;
      if (Clock::now() - begin < kLongest) continue;
      for (auto& one : all.since_)
        if (one.first != &timed && used(one) > most) one.first->stop_when_idle();
      return;
    }
  }

 private:
  using Since = std::pair<ChildProcess*, std::chrono::nanoseconds>;
  static double used(const Since& one) {
    return std::chrono::duration<double>(one.first->cpu_time() - one.second).count();
  }

  std::vector<Since> since_;  ///< With the processor time that each had used.
};

}  // namespace kernelift::sandbox::confined
