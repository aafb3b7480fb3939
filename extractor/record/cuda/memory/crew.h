// Spare threads for hashing and compression: a few, started at the first image and asleep otherwise.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>

namespace kernelift::record {

class Crew {
 public:
  /// Never destroyed while threads live: keep it for the process's life.
  explicit Crew(size_t most_threads) : most_threads_(most_threads) {}
  /// `work` runs on some thread soon; on this one if no thread can be started. It must not throw.
  void give(std::function<void()> work);

 private:
  void serve();

  const size_t most_threads_;
  std::mutex turn_;
  std::condition_variable given_;
  std::deque<std::function<void()>> waiting_;
  size_t threads_ = 0, idle_ = 0;
};

/// Counts work that was given and is not done.
class Countdown {
 public:
  void add(size_t count = 1);
  void done();
  void wait();

 private:
  std::mutex turn_;
  std::condition_variable zero_;
  size_t left_ = 0;
};

}  // namespace kernelift::record
