// Who may be inside a driver call while images are taken. Every call that launches or writes memory enters and leaves;
// to take images a thread that is inside closes the gate: others that are inside come out (or the deadline passes),
// others that come later wait. So nothing starts between the wait for the device and the launch, nor until the
// after-image is taken. An open gate costs two atomic additions a call.
#pragma once
#include <atomic>
#include <chrono>
#include <thread>

namespace kernelift::record {

using Deadline = std::chrono::steady_clock::time_point;

class Gate {
 public:
  /// Waits while the gate is closed by another thread. False: by this one, so that this is a signal's handler in the
  /// middle of the launch that it was closed for. The thread is not inside then.
  bool enter();
  void leave() { inside_.fetch_sub(1, std::memory_order_release); }
  /// EXPECTS: the caller is inside. True: it is alone, and no longer counts as inside. False: not by the deadline; it
  /// is inside as before.
  bool close(Deadline deadline);
  /// By the thread that closed it; that thread is then outside.
  void open();
  int inside() const { return inside_.load(); }
  bool closed_by_this_thread() const { return closer_.load() == std::this_thread::get_id(); }

 private:
  std::atomic<int> inside_{0};
  std::atomic<bool> closed_{false};
  std::atomic<std::thread::id> closer_{};
};

/// Opens a gate that this thread closed.
class ClosedGate {
 public:
  explicit ClosedGate(Gate& gate) : gate_(gate) {}
  ~ClosedGate() { gate_.open(); }
  ClosedGate(const ClosedGate&) = delete;

 private:
  Gate& gate_;
};

}  // namespace kernelift::record
