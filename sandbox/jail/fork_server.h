// A fork server is a small single-threaded process that is warmed up once and then forks a ready worker in milliseconds
// whenever one is needed. The main process, which has many threads, never forks after its start, so no child inherits a
// lock that another thread held, and a worker that crashed is replaced without a new warm-up. When the main process
// ends, for any reason, the fork server's socket closes, the fork server exits, and the kernel ends its workers. The
// workers run a function that the caller passes.
//
// The fork server is where the way out narrows for all of its workers, at no cost for each: it forgets the environment,
// leaves the terminal's session, enters namespaces, and reads what workers print, of which a beginning is kept.
#pragma once
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sandbox/jail/channel.h"
#include "sandbox/jail/jail.h"

namespace kernelift::sandbox {

/// Memory that a worker shares with its owner: it says what the worker was doing if the worker ends unexpectedly. The
/// worker is not trusted: texts in it are read with a bound.
struct WorkerCell {
  char stage[64];      ///< The stage that the worker is in: "front end".
  char item[192];      ///< The item that it works on, to which a crash is attributed: "pass licm on kernel".
  char message[1024];  ///< The text of a fatal error.
  char output[4096];   ///< The beginning of what it printed to stdout and stderr; written by the fork server.
  FaultReport fault;
  std::atomic<uint32_t> ended;
  int32_t wait_status;  ///< As wait() returns it; valid once `ended` is 1; written by the fork server.

  void set_stage(std::string_view text);
  void set_item(std::string_view text);
  void set_message(std::string_view text);
  std::string read_stage() const;
  std::string read_item() const;
  std::string read_message() const;
  std::string read_output() const;  ///< One line, without control characters.
};

/// A running worker. Destroying it kills it.
class Worker {
 public:
  Worker(Worker&&) noexcept;
  Worker& operator=(Worker&&) noexcept;
  ~Worker();

  Channel& channel() { return channel_; }
  const WorkerCell& cell() const { return *cell_; }
  pid_t pid() const { return pid_; }  ///< As this process sees it.
  void signal(int number) const;      ///< Signals the process; its children end with it (bind_to_parent()).
  bool alive() const;
  /// Kills the worker if it is alive, waits for its end, and returns how it ended: "segmentation fault reading 0x0",
  /// "killed", "exit code 1, having printed: …".
  std::string end();
  /// As wait() returns it; 0 while the worker is alive.
  int wait_status() const;

 private:
  friend class ForkServer;
  Worker() = default;
  Channel channel_;
  Descriptor process_;  ///< A pidfd, so that signals cannot reach another process that was given the same number.
  pid_t pid_ = -1;
  WorkerCell* cell_ = nullptr;
};

class ForkServer {
 public:
  struct Plan {
    std::string name;                                 ///< The process's name for ps.
    std::function<void()> warm_up;                    ///< Runs once, in the fork server.
    std::function<void(Channel&, WorkerCell&)> work;  ///< Runs in each worker; the worker ends when it returns.
    /// In namespaces of its own, as far as the machine has them. Not for workers that talk to a GPU's driver.
    bool apart = true;
    std::filesystem::path scratch = {};              ///< Apart: an existing folder that workers get in memory,
    uint64_t scratch_bytes = 1ull << 30;             ///< with room for so many bytes in all.
    std::vector<std::filesystem::path> hidden = {};  ///< Apart: folders that are empty for its workers.
  };
  static Result<std::unique_ptr<ForkServer>> start(Plan plan);
  ~ForkServer();
  /// Forks a worker. Thread-safe. The first call waits for the warm-up, at most a minute. An Error: the fork server has
  /// died, or there are too many processes or too little memory.
  Result<Worker> spawn();
  /// Seen by spawn(), which is of no use any more. Thread-safe.
  bool has_died();

 private:
  ForkServer() = default;
  /// Waits a moment for its end; empty: it goes on.
  std::string how_it_died();

  std::mutex mutex_;
  Channel control_;
  pid_t pid_ = -1;
  WorkerCell* cell_ = nullptr;  ///< Shared with the fork server: what it does, and its fault.
  std::string died_;            ///< How; empty: not that it was seen.
};

}  // namespace kernelift::sandbox
