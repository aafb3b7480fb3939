// Waiting until a whole context has nothing to do, but never for longer than a deadline and never while a graph is
// being captured. A stream may be waiting for something that only the application can do next (a host flag, an event it
// has yet to record): so known streams are only asked, and the one call that blocks (for work of streams not known
// here) is made by a thread of our own, which may stay stuck without harm.
#pragma once
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "core/toolchain/cuda_driver.h"
#include "extractor/record/cuda/quiet/gate.h"

namespace kernelift::record {

class Stillness {
 public:
  explicit Stillness(const CudaDriver& driver) : driver_(driver) {}
  void stream_created(CUcontext context, CUstream stream);
  void stream_gone(CUcontext context, CUstream stream);
  void context_gone(CUcontext context);
  void capture_begun(CUstream stream);
  void capture_ended(CUstream stream);  ///< By the thread that began it, if it is the thread's own stream.
  bool capturing() const { return captures_.load() > 0; }
  /// Of a stream whose own capture was begun; others may have joined it since.
  bool capturing(CUstream stream);
  /// EXPECTS: no stream is destroyed meanwhile (the gate is closed).
  /// True when the current context `context` is idle; false when it was not by the deadline.
  bool wait(CUcontext context, Deadline deadline);
  /// How long waits took that found the context idle in the end. It had work of the application to do, which would have
  /// taken that long unrecorded; a wait in vain only held the application up.
  double waited_seconds() const { return double(waited_ns_.load()) * 1e-9; }

 private:
  bool come_to_rest(CUcontext context, Deadline deadline);
  bool streams_idle(CUcontext context);
  bool blocking_wait(CUcontext context, Deadline deadline);

  const CudaDriver& driver_;
  std::mutex turn_;
  std::set<std::pair<CUcontext, CUstream>> streams_;
  std::set<std::pair<CUstream, std::thread::id>> capturing_;  ///< The thread: of streams that are a thread's own.
  std::atomic<size_t> captures_{0};
  std::atomic<int64_t> waited_ns_{0};

  /// The thread that blocks, and its one order.
  std::mutex helper_turn_;
  std::condition_variable order_;
  CUcontext ordered_ = nullptr;
  bool helper_started_ = false;
  std::atomic<bool> busy_{false}, succeeded_{false};
};

}  // namespace kernelift::record
