// isl's state, with bounded work: what takes more fails, and is null from then on.
#pragma once
#include <isl/ctx.h>
#include <isl/options.h>
#include <polly/isl/isl-noexceptions.h>
#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "core/base/processor_time.h"

namespace kernelift::legality {

class BoundedContext {
 public:
  /// `operations` are isl's; one takes from 50 ns to 10 us, so that `seconds` of processor time of the calling thread,
  /// which alone uses the context, are a bound as well. So is the moment when `stop` is asked for.
  BoundedContext(unsigned long operations, double seconds, std::stop_token stop) : context_(isl_ctx_alloc()) {
    isl_options_set_on_error(context_, ISL_ON_ERROR_CONTINUE);
    isl_ctx_set_max_operations(context_, operations);
    clockid_t clock{};
    pthread_getcpuclockid(pthread_self(), &clock);
    watch_ = std::thread([this, clock, stop = std::move(stop), last = seconds_of(clock) + seconds] {
      std::unique_lock lock(mutex_);
      while (!ended_.wait_for(lock, kLook, [this] { return end_; }))
        if (stop.stop_requested() || seconds_of(clock) > last)
          return isl_ctx_abort(context_);  // isl looks at that in every operation.
    });
  }
  ~BoundedContext() {
    {
      std::lock_guard lock(mutex_);
      end_ = true;
    }
    ended_.notify_one();
    watch_.join();
    isl_ctx_free(context_);
  }
  BoundedContext(const BoundedContext&) = delete;
  BoundedContext& operator=(const BoundedContext&) = delete;
  isl::ctx get() const { return isl::ctx(context_); }

 private:
  static constexpr auto kLook = std::chrono::milliseconds(50);

  isl_ctx* context_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::thread watch_;
};

}  // namespace kernelift::legality
