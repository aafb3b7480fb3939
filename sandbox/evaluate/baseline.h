// Compiles the original on this machine: its source through the compile pool, with the first set of headers that works.
// Used by the evaluators and by replay.
#pragma once
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "core/model/mep.h"
#include "sandbox/compile/compile_pool.h"
#include "sandbox/evaluate/evaluate.h"
#include "sandbox/evaluate/runner/inquiry.h"
#include "sandbox/evaluate/runner/laps.h"

namespace kernelift::sandbox {

struct CompiledBaseline {
  std::unique_ptr<CompilePool> pool;
  std::string source;
  std::string kernel;              ///< Mangled.
  std::optional<Dim3> block = {};  ///< Of its first recorded launch.
  CompileReply reply;
  Roundings roundings = {};  ///< Differently rounded builds of the same source, by add_roundings().

  /// What the kernel does with memory, in such blocks.
  Result<KernelModel> model() const;
};

/// Reads kernel.cu or kernel.hip and compiles it, with our lean headers and with the toolkit's, in the order that the
/// MEP suggests.
Result<CompiledBaseline> compile_baseline(const Mep& mep, const std::filesystem::path& folder,
                                          CompilePoolOptions options);

/// The folders of a MEP and of the state folder around it that hold recorded memory, and other runs: no compiler of a
/// candidate may read them.
std::vector<std::filesystem::path> recorded_data(const std::filesystem::path& mep_folder);

/// Compiles the differently rounded builds if the MEP holds floats; those with randomly rounded sums only
/// `for_candidates`, since a replay does not need them.
void add_roundings(const Mep& mep, CompiledBaseline& baseline, bool for_candidates);

/// Tells the user what the time before the first candidate went to, if that was a good part of all the time there is.
void tell_beginning(const EvaluatorOptions& options, const Laps& laps);

/// Why the original was not measured: `trouble`, or that the time is over, and what it went to.
Error late(const EvaluatorOptions& options, const Laps& laps, Error trouble);

}  // namespace kernelift::sandbox
