// Waits for files to become readable or writable and for moments to come, and calls who asked for them, one after the
// other: the server has one thread, because it forks.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>

namespace kernelift::cli::mcp {

class EventLoop {
 public:
  using Clock = std::chrono::steady_clock;
  /// Calls `ready` whenever `fd` can be read, or has ended. One call per descriptor.
  void watch(int fd, std::function<void()> ready);
  /// Calls `ready` whenever `fd` can be written; one call per descriptor.
  void watch_writable(int fd, std::function<void()> ready);
  void forget_writable(int fd);
  void forget(int fd);  ///< Neither is called any more.
  /// Calls `then` once, at that moment or soon after.
  uint64_t at(Clock::time_point when, std::function<void()> then);
  void drop(uint64_t timer);  ///< One that has been called, or 0, is dropped already.
  void run();                 ///< Returns after stop().
  void stop() { stopped_ = true; }

 private:
  int milliseconds_left() const;
  void call_timers();

  std::map<int, std::function<void()>> readable_, writable_;
  struct Timer {
    Clock::time_point when;
    std::function<void()> then;
  };
  std::map<uint64_t, Timer> timers_;
  uint64_t last_timer_ = 0;
  bool stopped_ = false;
};

}  // namespace kernelift::cli::mcp
