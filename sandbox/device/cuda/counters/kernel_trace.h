// Durations of a kernel's launches from CUPTI's activity records: the GPU's own time stamps, without the time between
// our events and the kernel. They check durations measured by events, occasionally and never while timings are taken.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace kernelift::sandbox {

/// The duration, in seconds, of each launch of the kernel with mangled name `name` while `work` runs; `work` must
/// return when the device is idle. For the current context. EXPECTS: no other profiler is active in this process. An
/// Error is the failure of `work`, or says why there are no records (without NVIDIA's headers at build time there are
/// none).
Result<std::vector<double>> trace_kernel(const std::string& name, const std::function<Status()>& work);

}  // namespace kernelift::sandbox
