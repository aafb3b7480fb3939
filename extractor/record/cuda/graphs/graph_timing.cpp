// See graph_timing.h.
#include "extractor/record/cuda/graphs/graph_timing.h"

#include "extractor/record/cuda/own_thread.h"

namespace kernelift {

void GraphTiming::start() { wholes_ = cupti_.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE) == CUPTI_SUCCESS; }

void GraphTiming::time_kernels(bool on) {
  if (!wholes_) return;
  OwnCall ours;
  (on ? cupti_.cuptiActivityDisable : cupti_.cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
}

}  // namespace kernelift
