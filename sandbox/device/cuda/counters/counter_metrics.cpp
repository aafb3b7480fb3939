// The metrics that are collected, and the members of KernelFacts that they become. Names are those of sm_70 and later;
// the session leaves out metrics that a chip does not support. No CUDA calls.
#include "sandbox/device/cuda/counters/counters.h"

namespace kernelift::sandbox {
namespace {

const char* const kStallReasons[] = {"barrier",  "branch_resolving", "dispatch_stall",  "drain",
                                     "imc_miss", "lg_throttle",      "long_scoreboard", "math_pipe_throttle",
                                     "membar",   "mio_throttle",     "no_instruction",  "not_selected",
                                     "selected", "short_scoreboard", "sleeping",        "tex_throttle",
                                     "wait"};

std::string stall_metric(const std::string& reason) {
  return "smsp__average_warps_issue_stalled_" + reason + "_per_issue_active.ratio";
}

/// Thread instructions by class, predicated-on ones only.
const std::pair<const char*, const char*> kClasses[] = {
    {"fp16", "smsp__sass_thread_inst_executed_op_fp16_pred_on.sum"},
    {"fp32", "smsp__sass_thread_inst_executed_op_fp32_pred_on.sum"},
    {"fp64", "smsp__sass_thread_inst_executed_op_fp64_pred_on.sum"},
    {"integer", "smsp__sass_thread_inst_executed_op_integer_pred_on.sum"},
    {"memory", "smsp__sass_thread_inst_executed_op_memory_pred_on.sum"},
    {"control", "smsp__sass_thread_inst_executed_op_control_pred_on.sum"},
    {"conversion", "smsp__sass_thread_inst_executed_op_conversion_pred_on.sum"},
};

std::string operation(const char* name) {
  return std::string("smsp__sass_thread_inst_executed_op_") + name + "_pred_on.sum";
}

}  // namespace

const std::vector<std::string>& wanted_metrics() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = {"dram__bytes_read.sum",
                                    "dram__bytes_write.sum",
                                    "lts__t_bytes.sum",
                                    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
                                    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
                                    "sm__warps_active.avg.pct_of_peak_sustained_active",
                                    "smsp__issue_active.avg.pct_of_peak_sustained_active",
                                    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
                                    "smsp__thread_inst_executed_per_inst_executed.ratio",
                                    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
                                    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio"};
    for (const char* reason : kStallReasons) all.push_back(stall_metric(reason));
    for (auto& [_, metric] : kClasses) all.push_back(metric);
    for (const char* name : {"fadd", "fmul", "ffma", "dadd", "dmul", "dfma"}) all.push_back(operation(name));
    return all;
  }();
  return names;
}

void facts_from_metrics(const std::map<std::string, double>& metrics, KernelFacts& facts) {
  auto of = [&](const std::string& name) -> std::optional<double> {
    auto found = metrics.find(name);
    return found == metrics.end() ? std::nullopt : std::optional(found->second);
  };
  auto share = [&](const std::string& name) -> std::optional<double> {
    auto percent = of(name);
    return percent ? std::optional(*percent / 100) : std::nullopt;
  };
  facts.dram_read_bytes = of("dram__bytes_read.sum");
  facts.dram_written_bytes = of("dram__bytes_write.sum");
  facts.l2_bytes = of("lts__t_bytes.sum");
  facts.shared_wavefronts = of("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum");
  facts.shared_conflicts = of("l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum");
  facts.occupancy = share("sm__warps_active.avg.pct_of_peak_sustained_active");
  facts.issue_active = share("smsp__issue_active.avg.pct_of_peak_sustained_active");
  facts.tensor_active = share("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed");
  facts.threads_per_instruction = of("smsp__thread_inst_executed_per_inst_executed.ratio");
  auto per_request = [&](const char* name) {
    auto sectors = of(name);
    return sectors && *sectors > 0 ? sectors : std::nullopt;  // 0: the kernel made no such request.
  };
  facts.sectors_per_load = per_request("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio");
  facts.sectors_per_store = per_request("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio");
  for (const char* reason : kStallReasons)
    if (auto cycles = of(stall_metric(reason))) facts.stalls[reason] = *cycles;
  for (auto& [name, metric] : kClasses)
    if (auto count = of(metric)) facts.instructions[name] = *count;
  auto operations = [&](const char* add, const char* multiply, const char* fused) -> std::optional<double> {
    auto a = of(operation(add)), m = of(operation(multiply)), f = of(operation(fused));
    return a && m && f ? std::optional(*a + *m + 2 * *f) : std::nullopt;
  };
  facts.fp32_operations = operations("fadd", "fmul", "ffma");
  facts.fp64_operations = operations("dadd", "dmul", "dfma");
}

}  // namespace kernelift::sandbox
