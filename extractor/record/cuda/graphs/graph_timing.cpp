// See graph_timing.h.
#include "extractor/record/cuda/graphs/graph_timing.h"

#include <utility>

#include "extractor/record/cuda/own_thread.h"

namespace kernelift {

void GraphTiming::start() { wholes_ = cupti_.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE) == CUPTI_SUCCESS; }

void GraphTiming::stop() {
  if (wholes_.exchange(false)) cupti_.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
}

/// EXPECTS: turn_ is not held: CUPTI may hand over records meanwhile.
void GraphTiming::switch_to(bool kernels) {
  OwnCall ours;
  (kernels ? cupti_.cuptiActivityDisable : cupti_.cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
}

void GraphTiming::time_kernels(bool on) {
  if (!wholes_) return;
  {
    std::lock_guard lock(turn_);
    open_ = on, after_whole_ = false;
  }
  switch_to(on);
}

GraphTiming::Kernels GraphTiming::launch(bool due, bool known, uint32_t correlation) {
  constexpr size_t kMostRunUps = 1 << 14;
  auto kernels = Kernels::Timed;
  {
    std::lock_guard lock(turn_);
    if (open_) return kernels;
    if (!due) {
      after_whole_ = true;
      return Kernels::Untimed;
    }
    open_ = true;
    if (std::exchange(after_whole_, false) && known) {
      kernels = Kernels::RunUp;
      if (run_ups_.size() >= kMostRunUps) run_ups_.erase(run_ups_.begin());
      run_ups_.insert(correlation);
    }
  }
  switch_to(true);
  return kernels;
}

bool GraphTiming::was_run_up(uint32_t correlation) {
  std::lock_guard lock(turn_);
  return run_ups_.contains(correlation);
}

}  // namespace kernelift
