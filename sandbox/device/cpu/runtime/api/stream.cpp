// Streams and events: handles, ordering, host callbacks and times. An event's time is the moment at which the work
// before it was done, which is when it was recorded. Captures are in graph.cpp.
#include <algorithm>
#include <cstring>
#include <functional>

#include "sandbox/device/cpu/runtime/api/alias.h"
#include "sandbox/device/cpu/runtime/errors.h"
#include "sandbox/device/cpu/runtime/order/graph.h"
#include "sandbox/device/cpu/runtime/order/stream.h"
#include "sandbox/device/cpu/runtime/state.h"

using namespace kernelift::cudart;

namespace {

constexpr int kLeastPriority = 0, kGreatestPriority = -5;
constexpr unsigned kNonBlocking = 1, kEventDisableTiming = 2;

/// Synchronising while a capture is open would wait for work that has not been submitted.
cudaError_t refuse_in_capture(Stream* stream) {
  if (!stream->capture) return check_no_capture(stream);
  stream->capture->invalidated = true;
  return cudaErrorStreamCaptureUnsupported;
}

cudaError_t run_host_function(cudaStream_t handle, std::function<void()> call) {
  Stream* stream = find_stream(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (!stream->capture) {
    enqueue_callback(stream, std::move(call));
    return cudaSuccess;
  }
  // A graph's host node runs on the callback thread too, and the next node waits for it.
  return capture_node(stream, NodeType::Host, [call] {
    Stream* legacy = find_stream(nullptr);
    enqueue_callback(legacy, call);
    wait_for_callbacks(legacy);
    return cudaSuccess;
  });
}

}  // namespace

KL_API cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  KL_ENTER();
  if (!stream || (flags & ~kNonBlocking)) return leave(cudaErrorInvalidValue);
  *stream = create_stream(flags, std::min(kLeastPriority, std::max(kGreatestPriority, priority)));
  return cudaSuccess;
}
KL_API cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
KL_API cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }

KL_API cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  KL_ENTER();
  return leave(destroy_stream(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

KL_API cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  KL_ENTER();
  Stream* stream = find_stream(handle);
  if (!stream) return leave(cudaErrorInvalidResourceHandle);
  if (on_callback_thread()) return leave(cudaErrorNotPermitted);
  if (cudaError_t error = refuse_in_capture(stream)) return leave(error);
  wait_for_callbacks(stream);
  return leave(device_fault());
}
KL_PTSZ(cudaStreamSynchronize);

KL_API cudaError_t cudaStreamQuery(cudaStream_t handle) {
  KL_ENTER();
  Stream* stream = find_stream(handle);
  if (!stream) return leave(cudaErrorInvalidResourceHandle);
  if (cudaError_t error = refuse_in_capture(stream)) return leave(error);
  return stream->pending_callbacks->load() > 0 ? cudaErrorNotReady : cudaSuccess;
}
KL_PTSZ(cudaStreamQuery);

KL_API cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  KL_ENTER();
  Stream* stream = find_stream(handle);
  if (!stream || !is_live_event(event)) return leave(cudaErrorInvalidResourceHandle);
  // Recorded work has run already: only a captured event orders anything.
  return leave(event->capture ? join_capture(stream, *event) : cudaSuccess);
}
KL_PTSZ(cudaStreamWaitEvent);

KL_API cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                         unsigned flags) {
  KL_ENTER();
  if (!callback || flags != 0) return leave(cudaErrorInvalidValue);
  return leave(run_host_function(stream, [=] { callback(stream, cudaSuccess, data); }));
}
KL_PTSZ(cudaStreamAddCallback);

KL_API cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  KL_ENTER();
  if (!function) return leave(cudaErrorInvalidValue);
  return leave(run_host_function(stream, [=] { function(data); }));
}
KL_PTSZ(cudaLaunchHostFunc);

KL_API cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags) {
  KL_ENTER();
  Stream* stream = find_stream(handle);
  if (!stream) return leave(cudaErrorInvalidResourceHandle);
  if (!flags) return leave(cudaErrorInvalidValue);
  *flags = stream->flags;
  return cudaSuccess;
}
KL_PTSZ(cudaStreamGetFlags);

KL_API cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  KL_ENTER();
  Stream* stream = find_stream(handle);
  if (!stream) return leave(cudaErrorInvalidResourceHandle);
  if (!priority) return leave(cudaErrorInvalidValue);
  *priority = stream->priority;
  return cudaSuccess;
}
KL_PTSZ(cudaStreamGetPriority);

KL_API cudaError_t cudaStreamGetId(cudaStream_t handle, unsigned long long* id) {
  KL_ENTER();
  Stream* stream = find_stream(handle);
  if (!stream) return leave(cudaErrorInvalidResourceHandle);
  if (!id) return leave(cudaErrorInvalidValue);
  *id = stream->id;
  return cudaSuccess;
}
KL_PTSZ(cudaStreamGetId);

KL_API cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  KL_ENTER();
  if (!find_stream(handle)) return leave(cudaErrorInvalidResourceHandle);
  if (!device) return leave(cudaErrorInvalidValue);
  *device = 0;
  return cudaSuccess;
}
KL_PTSZ(cudaStreamGetDevice);

/// Attributes steer caches and priorities, which a CPU has not got to offer: accepted without effect.
KL_API cudaError_t cudaStreamSetAttribute(cudaStream_t handle, int, const void* value) {
  KL_ENTER();
  if (!find_stream(handle)) return leave(cudaErrorInvalidResourceHandle);
  return leave(value ? cudaSuccess : cudaErrorInvalidValue);
}
KL_PTSZ(cudaStreamSetAttribute);
KL_API cudaError_t cudaStreamGetAttribute(cudaStream_t handle, int attribute, void* value) {
  KL_ENTER();
  Stream* stream = find_stream(handle);
  if (!stream) return leave(cudaErrorInvalidResourceHandle);
  if (!value) return leave(cudaErrorInvalidValue);
  std::memset(value, 0, sizeof cudaLaunchAttribute::val);
  if (attribute == kLaunchAttributePriority) std::memcpy(value, &stream->priority, sizeof stream->priority);
  return cudaSuccess;
}
KL_PTSZ(cudaStreamGetAttribute);
KL_API cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
  KL_ENTER();
  return leave(find_stream(to) && find_stream(from) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}
KL_PTSZ(cudaStreamCopyAttributes);

KL_API cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  KL_ENTER();
  constexpr unsigned kKnown = 0x07;
  if (!event || (flags & ~kKnown)) return leave(cudaErrorInvalidValue);
  *event = create_event(flags);
  return cudaSuccess;
}
KL_API cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }

KL_API cudaError_t cudaEventDestroy(cudaEvent_t event) {
  KL_ENTER();
  return leave(destroy_event(event) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

KL_API cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t handle, unsigned flags) {
  KL_ENTER();
  constexpr unsigned kExternal = 1;
  Stream* stream = find_stream(handle);
  if (!stream || !is_live_event(event)) return leave(cudaErrorInvalidResourceHandle);
  if (stream->capture && !(flags & kExternal)) {
    event->capture = stream->capture;
    event->frontier = stream->frontier;
    return cudaSuccess;
  }
  return leave(in_stream(handle, NodeType::EventRecord, [event] {
    event->capture = nullptr;
    event->time = std::chrono::steady_clock::now();
    event->recorded = true;
    return cudaSuccess;
  }));
}
KL_PTSZ(cudaEventRecordWithFlags);
KL_API cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, 0);
}
KL_PTSZ(cudaEventRecord);

/// An event is complete once recorded; one that never was counts as complete, as in CUDA.
KL_API cudaError_t cudaEventQuery(cudaEvent_t event) {
  KL_ENTER();
  if (!is_live_event(event)) return leave(cudaErrorInvalidResourceHandle);
  return leave(event->capture ? cudaErrorCapturedEvent : cudaSuccess);
}
KL_API cudaError_t cudaEventSynchronize(cudaEvent_t event) { return cudaEventQuery(event); }

KL_API cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  KL_ENTER();
  if (!milliseconds) return leave(cudaErrorInvalidValue);
  if (!is_live_event(start) || !is_live_event(end)) return leave(cudaErrorInvalidResourceHandle);
  bool timed = ((start->flags | end->flags) & kEventDisableTiming) == 0 && start->recorded && end->recorded;
  if (!timed) return leave(cudaErrorInvalidResourceHandle);
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
  return cudaSuccess;
}
KL_ALIAS(cudaEventElapsedTime_v2, cudaEventElapsedTime);
