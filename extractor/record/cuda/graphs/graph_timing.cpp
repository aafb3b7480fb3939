// See graph_timing.h. CUPTI is called without a lock of ours: it may hand over records meanwhile.
#include "extractor/record/cuda/graphs/graph_timing.h"

#include "extractor/record/cuda/own_thread.h"

namespace kernelift {

void GraphTiming::start() { wholes_ = cupti_.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE) == CUPTI_SUCCESS; }

void GraphTiming::stop() {
  if (wholes_.exchange(false)) cupti_.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
}

void GraphTiming::time_kernels(bool on) {
  if (!wholes_ || open_.exchange(on) == on) return;
  OwnCall ours;
  (on ? cupti_.cuptiActivityDisable : cupti_.cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
}

bool GraphTiming::switch_to(bool kernels) {
  constexpr auto kPatience = std::chrono::milliseconds(1);  // There will be another launch.
  if (!gate_.close(std::chrono::steady_clock::now() + kPatience)) return false;
  time_kernels(kernels);
  gate_.open();
  gate_.enter();
  return true;
}

GraphTiming::Kernels GraphTiming::launch(bool due, uint32_t correlation) {
  constexpr size_t kMostRunOuts = 1 << 14;
  if (due) return open_ || switch_to(true) ? Kernels::Timed : Kernels::Untimed;
  if (!open_) return Kernels::Untimed;
  std::lock_guard lock(turn_);
  if (run_outs_.size() >= kMostRunOuts) run_outs_.erase(run_outs_.begin());
  run_outs_.insert(correlation);
  return Kernels::RunOut;
}

void GraphTiming::ran_out() { switch_to(false); }

bool GraphTiming::was_run_out(uint32_t correlation) {
  std::lock_guard lock(turn_);
  return run_outs_.contains(correlation);
}

}  // namespace kernelift
