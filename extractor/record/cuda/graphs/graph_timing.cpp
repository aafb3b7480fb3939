// See graph_timing.h.
#include "extractor/record/cuda/graphs/graph_timing.h"

#include "extractor/record/cuda/own_thread.h"

namespace kernelift {

void GraphTiming::start() { wholes_ = cupti_.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE) == CUPTI_SUCCESS; }

void GraphTiming::kernels(bool timed) {
  if (!wholes_) return;
  OwnCall ours;
  (timed ? cupti_.cuptiActivityDisable : cupti_.cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
}

bool GraphTiming::open() {
  constexpr auto kPatience = std::chrono::milliseconds(1);  // There will be another launch to time.
  if (!gate_.close(std::chrono::steady_clock::now() + kPatience)) return false;
  kernels(true);
  return true;
}

void GraphTiming::shut() {
  ClosedGate closed(gate_);
  kernels(false);
}

}  // namespace kernelift
