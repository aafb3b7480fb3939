// A run in other formats: Kernel Tuner's T4 results, its cachefile, and Kernelift's own JSON with all data. Kernel
// Tuner's formats have one flat configuration per row, so the source text (as a hash) and the recipe become parameters
// beside the values. Times are milliseconds; those of finalists are from their confirmation.
#pragma once
#include "tuner/store/run.h"

namespace kernelift::tuner {

/// format: t4 | cachefile | json.
Result<Json> export_run(const Run& run, const std::string& format);

}  // namespace kernelift::tuner
