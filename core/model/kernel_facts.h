// How a kernel spends its time on a GPU: the resources that its image needs, hardware counters of one launch, and the
// measured peak rates of the GPU that ran it. Devices fill it in, sandbox/judge/diagnosis.h explains it to a person,
// and the tuner's tiers get the same facts. A figure that could not be measured is absent, never zero.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "core/base/json.h"
#include "core/model/launch/geometry.h"

namespace kernelift {

/// Rates that this GPU reached in short benchmarks.
struct MachinePeaks {
  std::optional<double> dram_bytes, l2_bytes, fp32_operations, fp64_operations;  ///< Per second.
  std::optional<double> launch_seconds;  ///< Duration of an empty kernel, launched back to back.
};

struct KernelFacts {
  std::string device;  ///< "cuda: NVIDIA H200 sm_90, driver 580.159"
  Geometry geometry;
  double seconds = 0;  ///< Median duration of a launch, measured without counters.
  int multiprocessors = 0;
  MachinePeaks peaks;

  // From the image and the launch.
  std::optional<int> registers;           ///< Per thread.
  std::optional<uint64_t> local_bytes;    ///< Per thread: spills and indexed arrays.
  std::optional<uint64_t> shared_bytes;   ///< Per block, static and dynamic.
  std::optional<int> resident_blocks;     ///< Per multiprocessor, as the driver computes it.
  std::optional<double> occupancy_limit;  ///< Resident warps as a share of the hardware's maximum, 0 … 1.
  std::string limited_by;                 ///< registers | shared memory | threads | blocks; empty if nothing limits it.

  // From counters of one launch.
  std::string counters_missing;  ///< Why there are no counters, and how to permit them; empty if there are some.
  std::optional<double> dram_read_bytes, dram_written_bytes, l2_bytes, shared_wavefronts;
  std::optional<double> occupancy;                ///< Achieved, 0 … 1.
  std::optional<double> issue_active;             ///< Share of cycles in which a scheduler issued, 0 … 1.
  std::optional<double> tensor_active;            ///< Share of cycles in which the tensor pipes were active, 0 … 1.
  std::optional<double> threads_per_instruction;  ///< At most 32; less with divergence.
  /// Sectors of 32 bytes per global memory request of a warp; 4 for adjacent floats.
  std::optional<double> sectors_per_load, sectors_per_store;
  std::optional<double> shared_conflicts;      ///< Extra wavefronts of shared memory caused by bank conflicts.
  std::map<std::string, double> stalls;        ///< Cycles a warp waits per instruction issued, by CUPTI's reason.
  std::map<std::string, double> instructions;  ///< Thread instructions by class: fp16 fp32 fp64 integer memory control.
  std::optional<double> fp32_operations, fp64_operations;  ///< A fused multiply-add counts as two.
};

Json to_json(const KernelFacts&);
Result<KernelFacts> kernel_facts_from_json(const Json&, const std::string& where);

}  // namespace kernelift
