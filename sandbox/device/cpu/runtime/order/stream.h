// Streams and events. Work runs at the call that submits it, so a stream is always drained but for host callbacks,
// which run on a thread of their own as they do on a GPU (an application may hold, while it submits, a lock that its
// callback takes); later work of the stream waits for them. A capturing stream collects work in a graph instead.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "sandbox/device/cpu/runtime/abi.h"
#include "sandbox/device/cpu/runtime/launch/recorder.h"

namespace kernelift::cudart {

/// cudaGraphNodeType's numbers.
enum class NodeType : int {
  Kernel = 0,
  Memcpy = 1,
  Memset = 2,
  Host = 3,
  Graph = 4,
  Empty = 5,
  WaitEvent = 6,
  EventRecord = 7,
  MemAlloc = 10,
  MemFree = 11,
};

struct Capture {
  Graph* graph = nullptr;
  Stream* origin = nullptr;  ///< The stream on which the capture began.
  std::thread::id thread;
  int mode = 0;
  bool invalidated = false, owns_graph = true;
  uint64_t id = 0;
};

struct Stream {
  unsigned flags = 0;  ///< cudaStreamNonBlocking = 1.
  int priority = 0;
  uint64_t id = 0;
  Capture* capture = nullptr;
  std::vector<GraphNode*> frontier;  ///< While capturing: what the next node depends on.
  /// Shared with the callbacks, which may outlive their thread's default stream.
  std::shared_ptr<std::atomic<int>> pending_callbacks = std::make_shared<std::atomic<int>>(0);
  bool blocking() const { return (flags & 1) == 0; }
};

struct Event {
  unsigned flags = 0;  ///< cudaEventDisableTiming = 2.
  bool recorded = false;
  std::chrono::steady_clock::time_point time;
  Capture* capture = nullptr;  ///< Recorded in a capture: not an event in time.
  std::vector<GraphNode*> frontier;
};

/// Null if `handle` is no live stream. 0 and 1 are the legacy default stream, 2 the thread's own default stream.
Stream* find_stream(cudaStream_t handle);
Stream* create_stream(unsigned flags, int priority);
bool destroy_stream(Stream* stream);
bool is_live_event(Event* event);
Event* create_event(unsigned flags);
bool destroy_event(Event* event);
void forget_streams_and_events();  ///< cudaDeviceReset.

/// Runs `callback` on the callback thread, after all that `stream` was given before.
void enqueue_callback(Stream* stream, std::function<void()> callback);
/// Waits for the callbacks that CUDA would order before new work in `stream`; null: for all of them.
void wait_for_callbacks(Stream* stream);
/// True on the callback thread, where CUDA forbids API calls that touch the device.
bool on_callback_thread();

/// Adds a node after the stream's frontier. EXPECTS: stream->capture.
cudaError_t capture_node(Stream* stream, NodeType type, std::function<cudaError_t()> run, GraphNode** made = nullptr);
/// What synchronous and default-stream work must answer while a capture is open that it would disturb.
cudaError_t check_no_capture(Stream* stream);
extern std::atomic<int> open_captures;

/// Does `work`, which may change memory, in turn with launches (launch/recorder.h); a kernel takes its turn by itself.
template <class Work>
cudaError_t run_work(NodeType type, const Work& work) {
  auto lock =
      type == NodeType::Memcpy || type == NodeType::Memset ? lock_out_launches() : std::unique_lock<std::mutex>();
  return work();
}

/// Does `work` in stream order: at once, or as a graph node while the stream captures. `work` must own its data.
template <class Work>
cudaError_t in_stream(cudaStream_t handle, NodeType type, Work&& work) {
  Stream* stream = find_stream(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (open_captures.load(std::memory_order_relaxed) > 0) {
    if (stream->capture) return capture_node(stream, type, std::forward<Work>(work));
    if (cudaError_t error = check_no_capture(stream)) return error;
  }
  wait_for_callbacks(stream);
  return run_work(type, work);
}

}  // namespace kernelift::cudart
