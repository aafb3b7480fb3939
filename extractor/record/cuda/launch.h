// One kernel launch as the driver's API was asked for it, whatever the entry: cuLaunchKernel, …Ex with attributes,
// cooperative, or the old cuParamSet family (which brings no parameters and is refused by name). Only reads the
// caller's structures; what they mean to a device is found out elsewhere.
#pragma once
#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/capture.h"

namespace kernelift::record {

struct CudaLaunch {
  CUfunction handle = nullptr;  ///< May be a CUkernel: the runtime passes those.
  Geometry geometry;
  CUstream stream = nullptr;
  void** parameters = nullptr;
  void** extra = nullptr;
  const CUlaunchConfig* config = nullptr;  ///< Only of cuLaunchKernelEx.
  std::string refusal;                     ///< Why its arguments cannot be had, empty if they can.
};

/// The driver's entries that launch one kernel, by CUPTI's number.
bool is_launch(uint32_t cbid);
bool is_graph_launch(uint32_t cbid);

/// EXPECTS: is_launch(cbid), and `parameters` are that function's.
CudaLaunch decode_launch(uint32_t cbid, const void* parameters);

/// Only the handle: what a launch that is of no interest costs.
CUfunction launched_function(uint32_t cbid, const void* parameters);

/// "per-thread", "default" or "created".
const char* stream_text(CUstream stream);

/// The launch's attributes; entry and stream by name.
LaunchSettings decode_settings(uint32_t cbid, const CudaLaunch& launch);

/// The argument bytes as the device sees them: gathered from the pointers of kernelParams, or copied from `extra`.
Result<std::vector<std::byte>> pack_arguments(const CudaLaunch& launch, const std::vector<Parameter>& layout);

}  // namespace kernelift::record
