// A nursery is a small single-threaded process that is warmed up once and then forks a ready worker in milliseconds
// whenever one is wanted. The many-threaded main process never forks after its start, so no lock is ever copied held,
// and a worker that crashed is replaced without paying for its warm-up again. If the main process dies, however it
// dies, the nursery's socket closes, it exits, and the kernel ends its workers. What workers do is the caller's
// function.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "sandbox/jail/channel.h"
#include "sandbox/jail/jail.h"

namespace kernelift {

/// Memory that a worker and its owner share: what the worker was doing, in case it can no longer say so. The worker is
/// not trusted with it; texts are read with a bound.
struct WorkerCell {
  char stage[64];
  char item[192];      ///< "pass licm on kernel", what a crash is blamed on.
  char message[1024];  ///< A fatal error's own words.
  FaultReport fault;
  std::atomic<uint32_t> ended;
  int32_t wait_status;  ///< Valid once ended is 1; written by the nursery.

  void set_stage(std::string_view text);
  void set_item(std::string_view text);
  void set_message(std::string_view text);
  std::string read_stage() const;
  std::string read_item() const;
  std::string read_message() const;
};

/// A running worker. Destroying it kills it.
class Worker {
 public:
  Worker(Worker&&) noexcept;
  Worker& operator=(Worker&&) noexcept;
  ~Worker();

  Channel& channel() { return channel_; }
  const WorkerCell& cell() const { return *cell_; }
  pid_t pid() const { return pid_; }
  void signal(int number) const;  ///< To the process and, for SIGKILL, through it to its children.
  bool alive() const;
  /// Kills it if it still lives, waits for its end, and says how it ended: "segmentation fault reading 0x0", "killed".
  std::string end();
  /// As wait() gives it; 0 while it lives.
  int wait_status() const;

 private:
  friend class Nursery;
  Worker() = default;
  Channel channel_;
  Descriptor process_;  ///< A pidfd: signals can never hit a process that took over the number.
  pid_t pid_ = -1;
  WorkerCell* cell_ = nullptr;
};

class Nursery {
 public:
  struct Plan {
    std::string name;                                 ///< Shown by ps.
    std::function<void()> warm_up;                    ///< Runs once, in the nursery.
    std::function<void(Channel&, WorkerCell&)> work;  ///< Runs in each worker; returning ends it.
  };
  static Result<std::unique_ptr<Nursery>> start(Plan plan);
  ~Nursery();
  /// Thread-safe.
  Result<Worker> spawn();

 private:
  Nursery() = default;
  std::mutex mutex_;
  Channel control_;
  pid_t pid_ = -1;
};

}  // namespace kernelift
