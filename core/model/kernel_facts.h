// What is known of how a kernel spends its time on a GPU: what its image asks for, what hardware counters saw of one
// launch, and what this very GPU was measured to be capable of. Devices fill it, sandbox/judge/diagnosis.h reads it for
// a person, and the tuner's tiers get the same facts. A figure nobody could measure is absent, never zero.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "core/base/json.h"
#include "core/model/launch/geometry.h"

namespace kernelift {

/// What this machine reached in short runs of our own; per second.
struct MachinePeaks {
  std::optional<double> dram_bytes, l2_bytes, fp32_operations, fp64_operations;
  std::optional<double> launch_seconds;  ///< An empty kernel, back to back.
};

struct KernelFacts {
  std::string device;  ///< "cuda: NVIDIA H200 sm_90, driver 580.159"
  Geometry geometry;
  double seconds = 0;  ///< Median of a launch, without counters running.
  int multiprocessors = 0;
  MachinePeaks peaks;

  // From the image and the launch.
  std::optional<int> registers;           ///< Per thread.
  std::optional<uint64_t> local_bytes;    ///< Per thread: spills and indexed arrays.
  std::optional<uint64_t> shared_bytes;   ///< Per block, static and dynamic.
  std::optional<int> resident_blocks;     ///< Per multiprocessor, as the driver computes it.
  std::optional<double> occupancy_limit;  ///< Resident warps over the most the hardware holds, 0 … 1.
  std::string limited_by;                 ///< registers | shared memory | threads | blocks; empty if nothing limits.

  // From counters, of one launch.
  std::string counters_missing;  ///< Why there are none, and what permits them; empty if there are.
  std::optional<double> dram_read_bytes, dram_written_bytes, l2_bytes, shared_wavefronts;
  std::optional<double> occupancy;                ///< Achieved, 0 … 1.
  std::optional<double> issue_active;             ///< Share of cycles in which a scheduler issued, 0 … 1.
  std::optional<double> tensor_active;            ///< Share of cycles in which the tensor pipes worked, 0 … 1.
  std::optional<double> threads_per_instruction;  ///< Of 32: divergence lowers it.
  std::optional<double> sectors_per_load,
      sectors_per_store;                       ///< Of 32 bytes, per global request of a warp; 4 for floats.
  std::optional<double> shared_conflicts;      ///< Extra wavefronts of shared memory by bank conflicts.
  std::map<std::string, double> stalls;        ///< Cycles a warp waits per instruction issued, by CUPTI's reason.
  std::map<std::string, double> instructions;  ///< Thread instructions by class: fp16 fp32 fp64 integer memory control.
  std::optional<double> fp32_operations, fp64_operations;  ///< A fused multiply-add counts two.
};

Json to_json(const KernelFacts&);
Result<KernelFacts> kernel_facts_from_json(const Json&, const std::string& where);

}  // namespace kernelift
