// How long a kernel's launches took by CUPTI's activity records: the GPU's own stamps, without our events and what is
// between them and the kernel. A second clock for what events measure, used now and then, never while figures are
// taken.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace kernelift {

/// Seconds of each launch of the kernel that the image calls `name`, as long as `work` runs, which returns when the
/// device is done; its failure is handed on. For the current context; no other profiler may be at work in this process.
/// An Error says why there are no records; exists without NVIDIA's headers too, where it says so.
Result<std::vector<double>> trace_kernel(const std::string& name, const std::function<Status()>& work);

}  // namespace kernelift
