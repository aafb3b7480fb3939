// See activity.h. The record is read as the version of our headers says; the fields used have kept their places since
// CUPTI 11.2, newer ones only appended.
#include "extractor/record/cuda/cupti/activity.h"

#include <new>

#include "extractor/record/cuda/own_thread.h"

namespace kernelift::record {
namespace {

constexpr size_t kBufferBytes = 2 << 20;  ///< Some ten thousand launches.
constexpr uint32_t kFlushMilliseconds = 500;

const Cupti* cupti_table = nullptr;
KernelRunSink run_sink = nullptr;

// CUPTI asks for buffers on the application's threads, in the middle of a launch. The heap's lock is ours: a signal's
// handler that ends the process in there must find us inside.
void CUPTIAPI buffer_requested(uint8_t** buffer, size_t* size, size_t* most_records) {
  Inside inside;
  *buffer = static_cast<uint8_t*>(operator new(kBufferBytes, std::nothrow));
  *size = *buffer ? kBufferBytes : 0;
  *most_records = 0;
}

void CUPTIAPI buffer_completed(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  CUpti_Activity* record = nullptr;
  while (buffer && cupti_table->cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
    auto& kernel = *reinterpret_cast<const CUpti_ActivityKernel10*>(record);
    KernelRun run;
    run.name = kernel.name;
    run.geometry.grid = {uint32_t(kernel.gridX), uint32_t(kernel.gridY), uint32_t(kernel.gridZ)};
    run.geometry.block = {uint32_t(kernel.blockX), uint32_t(kernel.blockY), uint32_t(kernel.blockZ)};
    run.geometry.shared_bytes = uint32_t(kernel.dynamicSharedMemory);
    run.geometry.cooperative = kernel.launchType != CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR;
    run.microseconds = kernel.end > kernel.start ? double(kernel.end - kernel.start) * 1e-3 : 0;
    run.start_seconds = double(kernel.start) * 1e-9, run.end_seconds = double(kernel.end) * 1e-9;
    run.correlation = kernel.correlationId;
    run.device = kernel.deviceId;
    run.in_graph = kernel.graphNodeId != 0;
    if (run.name) run_sink(run);
  }
  {
    Inside inside;
    operator delete(buffer);
  }
  run_sink(KernelRun{});
}

}  // namespace

Status prepare_activity(const Cupti& cupti, KernelRunSink sink) {
  cupti_table = &cupti;
  run_sink = sink;
  return cupti.take_records(buffer_requested, buffer_completed);
}

Status start_activity(const Cupti& cupti) {
  CUptiResult result = cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  if (result != CUPTI_SUCCESS) return environment_error("CUPTI does not trace kernels: " + cupti.text(result));
  cupti.cuptiActivityFlushPeriod(kFlushMilliseconds);
  return done();
}

void flush_activity(const Cupti& cupti) { cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED); }

void stop_activity(const Cupti& cupti) {
  flush_activity(cupti);
  cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
}

}  // namespace kernelift::record
