// isl's state, with bounded work: what takes more fails, and is null from then on.
#pragma once
#include <isl/ctx.h>
#include <isl/options.h>
#include <polly/isl/isl-noexceptions.h>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace kernelift::legality {

/// Processor time of the calling thread, in seconds.
double thread_seconds();

class BoundedContext {
 public:
  /// `operations` are isl's; one takes from 50 ns to 10 us, so that `seconds` of processor time of the calling thread,
  /// which alone uses the context, are a bound as well.
  BoundedContext(unsigned long operations, double seconds);
  ~BoundedContext();
  BoundedContext(const BoundedContext&) = delete;
  BoundedContext& operator=(const BoundedContext&) = delete;
  isl::ctx get() const { return isl::ctx(context_); }

 private:
  isl_ctx* context_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::thread watch_;
};

}  // namespace kernelift::legality
