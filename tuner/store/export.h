// A run in the formats of others: Kernel Tuner's T4 results and its cachefile, and all of it as our own JSON. Foreign
// formats know one flat configuration per row, so the source text (by hash) and the recipe become parameters beside the
// values; times are milliseconds, of finalists those of their confirmation, which are the ones reported.
#pragma once
#include "tuner/store/run.h"

namespace kernelift {

/// format: t4 | cachefile | json.
Result<Json> export_run(const Run& run, const std::string& format);

}  // namespace kernelift
