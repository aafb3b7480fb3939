// The original as this machine makes it: its source compiled through the pool, with the headers that carry it. Shared
// by the evaluator and by replay.
#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "core/model/mep.h"
#include "sandbox/compile/compile_pool.h"
#include "sandbox/evaluate/runner/inquiry.h"

namespace kernelift {

struct CompiledBaseline {
  std::unique_ptr<CompilePool> pool;
  std::string source;
  CompileReply reply;
  Roundings roundings = {};  ///< Of the same source: add_roundings().
};

/// Reads kernel.cu or kernel.hip, and compiles it with our lean headers or else with the toolkit's.
Result<CompiledBaseline> compile_baseline(const Mep& mep, const std::filesystem::path& folder,
                                          CompilePoolOptions options);

/// Where there are floats to be compared; at random only for candidates, who alone have a use for it.
void add_roundings(const Mep& mep, CompiledBaseline& baseline, bool for_candidates);

}  // namespace kernelift
