// What the verbs that time a whole application measure: --measure, --region, --metric and --metric-better.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/verb.h"
#include "reintegrate/metric.h"

namespace kernelift::cli {

struct MeasureOptions {
  std::string measure, pattern, better = "higher";
  std::string region;  ///< The NVTX range whose kernels' span is measured; empty: the whole run's.

  bool span() const { return measure == "span" || !region.empty(); }
  /// None: the run's duration is measured. A usage Error if the options do not go together.
  Result<std::optional<reintegrate::Metric>> metric() const;
  /// The command that is timed in place of `run`: for the kernels' span, `run` under the recorder, which keeps its
  /// files in `state`. `device`: "cpu" or "cuda".
  Result<std::string> timed(const std::string& run, const std::string& device,
                            const std::filesystem::path& state) const;
  /// The options again, for another verb.
  std::vector<std::string> words() const;
};

/// `with_auto`: whether the measure may be left to Kernelift, which is the default then.
void add_measure(CLI::App& app, MeasureOptions& options, bool with_auto);

}  // namespace kernelift::cli
