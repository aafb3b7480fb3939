// Compiles the original on this machine: its source through the compile pool, with the first set of headers that works.
// Used by the evaluators and by replay.
#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "core/model/mep.h"
#include "sandbox/compile/compile_pool.h"
#include "sandbox/evaluate/runner/inquiry.h"

namespace kernelift::sandbox {

struct CompiledBaseline {
  std::unique_ptr<CompilePool> pool;
  std::string source;
  CompileReply reply;
  Roundings roundings = {};  ///< Differently rounded builds of the same source, by add_roundings().
};

/// Reads kernel.cu or kernel.hip and compiles it, with our lean headers and with the toolkit's, in the order that the
/// MEP suggests.
Result<CompiledBaseline> compile_baseline(const Mep& mep, const std::filesystem::path& folder,
                                          CompilePoolOptions options);

/// Compiles the differently rounded builds if the MEP holds floats; those with randomly rounded sums only
/// `for_candidates`, since a replay does not need them.
void add_roundings(const Mep& mep, CompiledBaseline& baseline, bool for_candidates);

}  // namespace kernelift::sandbox
