// See call_part.h. By name where CUPTI has a number for each of many variants.
#include "extractor/record/cuda/call_part.h"

#include "extractor/record/cuda/graphs/graph_table.h"
#include "extractor/record/cuda/launch.h"
#include "extractor/record/cuda/memory/allocations.h"

namespace kernelift::record {

CallPart part_of(CUpti_CallbackId cbid, std::string_view name) {
  auto begins = [&](std::string_view with) { return name.substr(0, with.size()) == with; };
  if (is_launch(cbid)) return CallPart::Launch;
  if (is_graph_launch(cbid)) return CallPart::GraphLaunch;
  if (is_graph_call(cbid)) return CallPart::Graph;
  if (begins("cuStreamBegin")) return CallPart::CaptureBegin;  // …Capture, …CaptureToGraph, …RecaptureToGraph
  if (begins("cuStreamEndCapture")) return CallPart::CaptureEnd;
  if (is_memory_call(cbid)) return CallPart::Memory;
  if (begins("cuLibraryLoadData") || begins("cuModuleLoadData") || begins("cuModuleLoadFatBinary"))
    return CallPart::Load;
  if (begins("cuLibraryUnload") || begins("cuModuleUnload")) return CallPart::Unload;
  // These begin with where they write.
  for (auto write : {"cuMemcpyHtoD", "cuMemcpyDtoD", "cuMemset"})
    if (begins(write)) return CallPart::Write;
  // Copies to the host change no device memory, and a host that waits for one must not hold up an image.
  bool to_host = name.find("toH") != std::string_view::npos || name.find("toA") != std::string_view::npos;
  if (begins("cuMemcpy") && !to_host) return CallPart::Change;
  for (auto also : {"cuStreamWriteValue", "cuStreamBatchMemOp", "cuStreamDestroy", "cuLaunchHostFunc", "cuCtxDestroy",
                    "cuGreenCtxDestroy", "cuDevicePrimaryCtxRe"})
    if (begins(also)) return CallPart::Change;
  return CallPart::None;
}

}  // namespace kernelift::record
