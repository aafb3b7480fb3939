// See crew.h.
#include "extractor/record/cuda/memory/crew.h"

#include <utility>

#include "extractor/record/cuda/own_thread.h"

namespace kernelift::record {

void Crew::give(std::function<void()> work) {
  bool alone = false;
  {
    std::lock_guard lock(turn_);
    if (idle_ <= waiting_.size() && threads_ < most_threads_ && start_own_thread([this] { serve(); })) ++threads_;
    alone = threads_ == 0;
    if (!alone) waiting_.push_back(std::move(work));
  }
  if (alone) work();
  else given_.notify_one();
}

void Crew::serve() {
  std::unique_lock lock(turn_);
  for (;;) {
    ++idle_;
    given_.wait(lock, [&] { return !waiting_.empty(); });
    --idle_;
    auto work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    work();
    work = nullptr;
    lock.lock();
  }
}

void Countdown::add(size_t count) {
  std::lock_guard lock(turn_);
  left_ += count;
}

void Countdown::done() {
  // Notified under the lock: a waiter may destroy this right after.
  std::lock_guard lock(turn_);
  if (--left_ == 0) zero_.notify_all();
}

void Countdown::wait() {
  std::unique_lock lock(turn_);
  zero_.wait(lock, [&] { return left_ == 0; });
}

}  // namespace kernelift::record
