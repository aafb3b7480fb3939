// See isl_context.h. isl asks in every operation whether it shall end, which another thread may decide at any time.
#include "core/legality/isl_context.h"

#include <pthread.h>

#include <chrono>
#include <ctime>

namespace kernelift::legality {
namespace {

constexpr auto kLook = std::chrono::milliseconds(50);

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

}  // namespace

double thread_seconds() { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }

BoundedContext::BoundedContext(unsigned long operations, double seconds) : context_(isl_ctx_alloc()) {
  isl_options_set_on_error(context_, ISL_ON_ERROR_CONTINUE);
  isl_ctx_set_max_operations(context_, operations);
  clockid_t clock{};
  pthread_getcpuclockid(pthread_self(), &clock);
  watch_ = std::thread([this, clock, last = seconds_of(clock) + seconds] {
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, kLook, [this] { return end_; }))
      if (seconds_of(clock) > last) return isl_ctx_abort(context_);
  });
}

BoundedContext::~BoundedContext() {
  {
    std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_one();
  watch_.join();
  isl_ctx_free(context_);
}

}  // namespace kernelift::legality
