// Threads of our own in somebody else's process: no signal is ever delivered to them, CUPTI's callbacks for what they
// do are ignored, and they are never joined, since the process may end in the middle of anything.
#pragma once
#include <pthread.h>

#include <csignal>
#include <functional>
#include <system_error>
#include <thread>

namespace kernelift::record {

/// True on a thread while what it asks of the driver is our doing, not the application's.
inline bool& our_own_call() {
  static thread_local bool ours = false;
  return ours;
}

/// Sets our_own_call for its lifetime.
class OwnCall {
 public:
  OwnCall() : before_(our_own_call()) { our_own_call() = true; }
  ~OwnCall() { our_own_call() = before_; }

 private:
  bool before_;
};

/// True on a thread that is in the middle of our code, where it may hold locks of ours. Whoever comes in again on it is
/// a signal's handler, and would wait for itself.
inline bool& inside_recorder() {
  static thread_local bool inside = false;
  return inside;
}

class Inside {
 public:
  Inside() : before_(inside_recorder()) { inside_recorder() = true; }
  ~Inside() { inside_recorder() = before_; }

 private:
  bool before_;
};

/// False if the process may have no more threads.
template <class Work>
bool start_own_thread(Work work) {
  sigset_t all, before;
  sigfillset(&all);
  bool masked = sigprocmask(SIG_SETMASK, &all, &before) == 0;
  bool started = true;
  try {
    std::thread([work = std::move(work)]() mutable {
      our_own_call() = true;
      try {
        work();
      } catch (...) {}
    }).detach();
  } catch (const std::system_error&) {
    started = false;
  }
  if (masked) sigprocmask(SIG_SETMASK, &before, nullptr);
  return started;
}

}  // namespace kernelift::record
