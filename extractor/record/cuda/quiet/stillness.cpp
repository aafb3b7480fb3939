// See stillness.h.
#include "extractor/record/cuda/quiet/stillness.h"

#include <vector>

#include "extractor/record/cuda/own_thread.h"

namespace kernelift::record {
namespace {

constexpr auto kPoll = std::chrono::microseconds(20);

/// Every thread calls its own per-thread stream by the same handle.
std::pair<CUstream, std::thread::id> capture_on(CUstream stream) {
  bool own = !stream || stream == CU_STREAM_PER_THREAD;  // The legacy stream cannot be captured.
  return {own ? nullptr : stream, own ? std::this_thread::get_id() : std::thread::id()};
}

/// What a thread captures on its own stream is over when the thread is: nobody else can name that stream, to end it.
struct ThreadsOwnCapture {
  Stillness* counted_by = nullptr;
  ~ThreadsOwnCapture() {
    if (counted_by) counted_by->capture_ended(nullptr);
  }
};
thread_local ThreadsOwnCapture own_capture;

}  // namespace

void Stillness::stream_created(CUcontext context, CUstream stream) {
  std::lock_guard lock(turn_);
  streams_.insert({context, stream});
}

void Stillness::stream_gone(CUcontext context, CUstream stream) {
  std::lock_guard lock(turn_);
  streams_.erase({context, stream});
  capturing_.erase(capture_on(stream));
  captures_ = capturing_.size();
}

void Stillness::context_gone(CUcontext context) {
  std::lock_guard lock(turn_);
  std::erase_if(streams_, [&](auto& one) { return one.first == context; });
}

void Stillness::capture_begun(CUstream stream) {
  std::lock_guard lock(turn_);
  auto capture = capture_on(stream);
  if (!capture.first) own_capture.counted_by = this;
  capturing_.insert(capture);
  captures_ = capturing_.size();
}

void Stillness::capture_ended(CUstream stream) {
  std::lock_guard lock(turn_);
  auto capture = capture_on(stream);
  if (!capture.first) own_capture.counted_by = nullptr;
  capturing_.erase(capture);
  captures_ = capturing_.size();
}

bool Stillness::capturing(CUstream stream) {
  std::lock_guard lock(turn_);
  return capturing_.contains(capture_on(stream));
}

bool Stillness::streams_idle(CUcontext context) {
  // Asked without the lock: the driver tells of new streams while it holds locks of its own. None is destroyed
  // meanwhile, since that waits at the gate.
  std::vector<CUstream> known;
  {
    std::lock_guard lock(turn_);
    for (auto& [owner, stream] : streams_)
      if (owner == context) known.push_back(stream);
  }
  for (CUstream stream : known)
    if (driver_.cuStreamQuery(stream) == CUDA_ERROR_NOT_READY) return false;
  return driver_.cuStreamQuery(CU_STREAM_LEGACY) != CUDA_ERROR_NOT_READY;
}

bool Stillness::wait(CUcontext context, Deadline deadline) {
  auto began = std::chrono::steady_clock::now();
  if (!come_to_rest(context, deadline)) return false;
  waited_ns_ += std::chrono::nanoseconds(std::chrono::steady_clock::now() - began).count();
  return true;
}

bool Stillness::come_to_rest(CUcontext context, Deadline deadline) {
  if (!context) return false;
  while (!streams_idle(context)) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kPoll);
  }
  return blocking_wait(context, deadline);
}

bool Stillness::blocking_wait(CUcontext context, Deadline deadline) {
  if (busy_.load()) return false;  // It is stuck in an earlier one.
  {
    std::lock_guard lock(helper_turn_);
    busy_ = true;
    ordered_ = context;
    if (!helper_started_) {
      helper_started_ = start_own_thread([this] {
        for (;;) {
          std::unique_lock lock(helper_turn_);
          order_.wait(lock, [&] { return ordered_ != nullptr; });
          CUcontext context = std::exchange(ordered_, nullptr);
          lock.unlock();
          succeeded_ = driver_.cuCtxSetCurrent(context) == CUDA_SUCCESS && driver_.cuCtxSynchronize() == CUDA_SUCCESS;
          driver_.cuCtxSetCurrent(nullptr);
          busy_ = false;
        }
      });
      if (!helper_started_) {
        busy_ = false;
        return false;
      }
    }
  }
  order_.notify_one();
  for (int i = 0; busy_.load(); ++i) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    if (i > 1000) std::this_thread::sleep_for(kPoll);
    else std::this_thread::yield();
  }
  return succeeded_.load();
}

}  // namespace kernelift::record
