// The original as this machine makes it: its source compiled through the pool, with the headers that carry it. Shared
// by the evaluator and by replay.
#pragma once
#include <filesystem>
#include <memory>
#include <string>

#include "core/model/mep.h"
#include "sandbox/compile/service/compile_pool.h"
#include "sandbox/evaluate/inquiry.h"

namespace kernelift {

struct CompiledBaseline {
  std::unique_ptr<CompilePool> pool;
  std::string source;
  CompileReply reply;
  Roundings roundings;  ///< Of the same source; none if no buffer is of floats, and `at_random` only where asked for.
};

/// Reads kernel.cu or kernel.hip, and compiles it with our lean headers or else with the toolkit's.
Result<CompiledBaseline> compile_baseline(const Mep& mep, const std::filesystem::path& folder,
                                          CompilePoolOptions options);

/// Compiles `roundings.at_random`, which candidates alone have a use for.
void add_random_roundings(const Mep& mep, CompiledBaseline& baseline);

}  // namespace kernelift
