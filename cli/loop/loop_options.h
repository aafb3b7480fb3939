// What the user asks of `optimize`.
#pragma once
#include <string>
#include <vector>

#include "cli/loop/loop_order.h"
#include "cli/measure_options.h"
#include "cli/search_options.h"

namespace kernelift::cli {

struct LoopOptions {
  std::string build;  ///< Empty: there is nothing to build.
  std::string run, check, time = "10m", embed = "auto", limit = "1h", hooks = "run";
  LoopLimits limits;
  std::vector<std::string> repositories;
  uint64_t skip = 0;
  double smallest_share = 0.5;  ///< In per cent.
  bool lock_clocks = false, allow_host_changes = false, allow_unproven_host = false, allow_weak_jail = false,
       no_guards = false;
  MeasureOptions measure;
  SearchOptions search;  ///< The model's limits are for all kernels together.
};

void add_loop_options(CLI::App& app, LoopOptions& options);

}  // namespace kernelift::cli
