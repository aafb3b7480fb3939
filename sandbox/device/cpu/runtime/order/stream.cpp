// Live handles are kept in sets, so that a stale or foreign handle is answered with cudaErrorInvalidResourceHandle and
// never dereferenced. The callback thread is started by the first callback and left running, as the driver's is.
#include "sandbox/device/cpu/runtime/order/stream.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <unordered_set>

#include "sandbox/device/cpu/runtime/errors.h"
#include "sandbox/device/cpu/runtime/order/graph.h"
#include "sandbox/device/cpu/runtime/state.h"

namespace kernelift::cudart {

std::atomic<int> open_captures{0};

namespace {

struct Handles {
  std::unordered_set<Stream*> streams;
  std::unordered_set<Event*> events;
  uint64_t next_id = 3;  // 1 and 2 are the default streams'.
  Stream legacy;
};
Handles& handles() {
  static Handles& all = *new Handles;
  all.legacy.id = 1;
  return all;
}

/// Ends with its thread, and a capture that is open in it too.
struct ThreadStream : Stream {
  ThreadStream() { id = 2; }
  ~ThreadStream() {
    StateLock lock;
    if (capture) abandon_capture(capture);
  }
};
Stream& thread_default_stream() {
  thread_local ThreadStream stream;
  return stream;
}

constexpr std::chrono::seconds kLongWait{10};

/// The thread that runs host callbacks, one after the other.
class CallbackThread {
 public:
  void push(Stream* stream, std::function<void()> callback) {
    std::lock_guard lock(mutex_);
    stream->pending_callbacks->fetch_add(1);
    total_.fetch_add(1);
    queue_.push_back({stream->pending_callbacks, std::move(callback)});
    if (!started_) {
      started_ = true;
      std::thread([this] { loop(); }).detach();
    }
    wake_.notify_one();
  }

  template <class Done>
  void wait(Done done) {
    if (total_.load(std::memory_order_acquire) == 0 || inside_) return;
    std::unique_lock lock(mutex_);
    if (drained_.wait_for(lock, kLongWait, done)) return;
    explain(
        "a host function that was given to a stream has not ended for %d s; work that comes after it waits, and if it "
        "waits for what this thread does "
        "next, for ever: the CPU device does work when it is asked for (docs/limitations.md)",
        static_cast<int>(kLongWait.count()));
    drained_.wait(lock, done);
  }

  int total() const { return total_.load(std::memory_order_acquire); }
  static bool inside() { return inside_; }

 private:
  struct Item {
    std::shared_ptr<std::atomic<int>> pending;  ///< Its stream's.
    std::function<void()> callback;
  };
  void loop() {
    inside_ = true;
    for (;;) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return !queue_.empty(); });
      Item item = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      item.callback();
      lock.lock();
      item.pending->fetch_sub(1);
      total_.fetch_sub(1);
      drained_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, drained_;
  std::deque<Item> queue_;
  std::atomic<int> total_{0};
  bool started_ = false;
  static thread_local bool inside_;
};
thread_local bool CallbackThread::inside_ = false;

CallbackThread& callback_thread() {
  static CallbackThread& thread = *new CallbackThread;
  return thread;
}

}  // namespace

Stream* find_stream(cudaStream_t handle) {
  if (handle == nullptr || handle == kLegacyStream) return &handles().legacy;
  if (handle == kPerThreadStream) return &thread_default_stream();
  StateLock lock;
  return handles().streams.contains(handle) ? handle : nullptr;
}

Stream* create_stream(unsigned flags, int priority) {
  StateLock lock;
  auto* stream = new Stream;
  stream->flags = flags;
  stream->priority = priority;
  stream->id = handles().next_id++;
  handles().streams.insert(stream);
  return stream;
}

bool destroy_stream(Stream* stream) {
  wait_for_callbacks(nullptr);
  StateLock lock;
  if (handles().streams.erase(stream) == 0) return false;
  if (stream->capture) abandon_capture(stream->capture);
  delete stream;
  return true;
}

bool is_live_event(Event* event) {
  StateLock lock;
  return handles().events.contains(event);
}

Event* create_event(unsigned flags) {
  StateLock lock;
  auto* event = new Event;
  event->flags = flags;
  handles().events.insert(event);
  return event;
}

bool destroy_event(Event* event) {
  StateLock lock;
  if (handles().events.erase(event) == 0) return false;
  delete event;
  return true;
}

void forget_streams_and_events() {
  wait_for_callbacks(nullptr);
  StateLock lock;
  while (!handles().streams.empty()) destroy_stream(*handles().streams.begin());
  while (!handles().events.empty()) destroy_event(*handles().events.begin());
}

void enqueue_callback(Stream* stream, std::function<void()> callback) {
  callback_thread().push(stream, std::move(callback));
}

void wait_for_callbacks(Stream* stream) {
  CallbackThread& thread = callback_thread();
  if (thread.total() == 0) return;
  if (!stream || stream == &handles().legacy) {
    thread.wait([&] { return thread.total() == 0; });
    return;
  }
  thread.wait([&] {
    return stream->pending_callbacks->load() == 0 &&
           (!stream->blocking() || handles().legacy.pending_callbacks->load() == 0);
  });
}

bool on_callback_thread() { return CallbackThread::inside(); }

cudaError_t check_no_capture(Stream* stream) {
  if (stream != &handles().legacy) return cudaSuccess;
  StateLock lock;
  cudaError_t answer = cudaSuccess;
  for (Stream* other : handles().streams)
    if (other->capture && other->blocking()) {
      other->capture->invalidated = true;
      answer = cudaErrorStreamCaptureImplicit;
    }
  return answer;
}

}  // namespace kernelift::cudart
