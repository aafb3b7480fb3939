// How long kernels took, by CUPTI's activity records: each launch's own time on the device, graph launches' kernels
// included. Records come in buffers, later than the launches and in any order, on whatever thread CUPTI chooses.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "core/model/launch/geometry.h"
#include "extractor/record/cuda/cupti/cupti.h"

namespace kernelift::record {

struct KernelRun {
  const char* name = nullptr;  ///< Mangled.
  Geometry geometry;
  double microseconds = 0;
  double start_seconds = 0, end_seconds = 0;  ///< By CUPTI's clock.
  uint32_t correlation = 0, device = 0;
  bool in_graph = false;
};

/// Called for every kernel that ran; once with a null name after each buffer.
using KernelRunSink = void (*)(const KernelRun&);

/// Once per process: CUPTI's callbacks have no user pointer. Records come after start_activity() only.
Status prepare_activity(const Cupti& cupti, KernelRunSink sink);
Status start_activity(const Cupti& cupti);
/// Hands over everything that is complete, also half-filled buffers.
void flush_activity(const Cupti& cupti);
void stop_activity(const Cupti& cupti);

}  // namespace kernelift::record
