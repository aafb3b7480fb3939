// What a call of the driver's is to the recorder.
#pragma once
#include <cupti.h>

#include <cstdint>
#include <string_view>

namespace kernelift::record {

enum class CallPart : uint8_t {
  None,
  Launch,
  GraphLaunch,
  Change,  ///< Starts work that changes device memory, or ends what an image waits for.
  Write,   ///< Changes the memory that its first argument points to.
  Memory,  ///< Allocates, maps or frees.
  CaptureBegin,
  CaptureEnd,
  Load,
  Unload,
  Graph,  ///< Makes, changes or destroys an executable graph.
};

/// By CUPTI's number and name of the call.
CallPart part_of(CUpti_CallbackId cbid, std::string_view name);

}  // namespace kernelift::record
