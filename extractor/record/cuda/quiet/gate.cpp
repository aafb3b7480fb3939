// See gate.h. Waits with a deadline poll: timed waits on the steady clock would ask for a newer C library.
#include "extractor/record/cuda/quiet/gate.h"

namespace kernelift::record {

constexpr auto kGatePoll = std::chrono::microseconds(50);

bool Gate::enter() {
  for (;;) {
    inside_.fetch_add(1);
    if (!closed_.load()) [[likely]]
      return true;
    inside_.fetch_sub(1);
    if (closed_by_this_thread()) return false;
    // No lock, and nothing to be woken by: a signal's handler may come in on a thread that waits here.
    while (closed_.load()) std::this_thread::sleep_for(kGatePoll);
  }
}

bool Gate::close(Deadline deadline) {
  leave();
  for (;;) {
    bool expected = false;
    if (closed_.compare_exchange_strong(expected, true)) break;
    if (std::chrono::steady_clock::now() >= deadline) {
      enter();
      return false;
    }
    std::this_thread::sleep_for(kGatePoll);
  }
  closer_ = std::this_thread::get_id();
  while (inside_.load() > 0) {
    if (std::chrono::steady_clock::now() >= deadline) {
      inside_.fetch_add(1);
      open();
      return false;
    }
    std::this_thread::sleep_for(kGatePoll);
  }
  return true;
}

void Gate::open() {
  closer_ = std::thread::id();
  closed_.store(false);
}

}  // namespace kernelift::record
