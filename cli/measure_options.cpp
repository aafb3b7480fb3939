// See measure_options.h.
#include "cli/measure_options.h"

#include "core/base/executable.h"
#include "core/base/process.h"

namespace kernelift::cli {

Result<std::optional<reintegrate::Metric>> MeasureOptions::metric() const {
  using reintegrate::Metric;
  if (pattern.empty()) return span() ? std::optional(Metric::kernel_span(region)) : std::nullopt;
  if (measure == "span") return usage_error("--measure span and --metric are two measures: give one of them");
  KERNELIFT_ASSIGN(Metric metric, Metric::parse(pattern, better));
  return std::optional(std::move(metric));
}

Result<std::string> MeasureOptions::timed(const std::string& run, const std::string& device,
                                          const std::filesystem::path& state) const {
  if (!span() || !pattern.empty()) return run;
  KERNELIFT_ASSIGN(std::filesystem::path kernelift, executable());
  std::vector<std::string> words{kernelift.string(), "record", "--profile-only", "--json",
                                 "--device",         device,   "--state",        (state / "span").string()};
  if (!region.empty()) words.insert(words.end(), {"--region", region});
  words.insert(words.end(), {"--", "sh", "-c", run});
  return join_command(words);
}

std::vector<std::string> MeasureOptions::words() const {
  if (!pattern.empty()) return {"--metric", pattern, "--metric-better", better};
  if (!region.empty()) return {"--region", region};
  return {"--measure", span() ? "span" : "run"};
}

void add_measure(CLI::App& app, MeasureOptions& options, bool with_auto) {
  options.measure = with_auto ? "auto" : "run";
  std::vector<std::string> words{"run", "span"};
  if (with_auto) words.emplace_back("auto");
  app.add_option("--measure", options.measure,
                 std::string("What a patch must make shorter: run, the whole --run command, or span, the time from its "
                             "first kernel to its last") +
                     (with_auto ? "; auto: span, if that is less than half of the run" : ""))
      ->capture_default_str()
      ->check(CLI::IsMember(words));
  app.add_option(
      "--region", options.region,
      "An NVTX range (NAME, or NAME@DOMAIN): a patch must make the time shorter from the first kernel to the "
      "last in it, summed over its occurrences" +
          std::string(with_auto ? "; only its launches are recorded, and shares are of that time" : ""));
  app.add_option(
      "--metric", options.pattern,
      "Measure a figure that the run prints: an extended regular expression whose first group is the number, "
      "'FOM *= *([0-9.eE+-]+)'");
  app.add_option("--metric-better", options.better, "Whether a higher or a lower figure is better")
      ->capture_default_str()
      ->check(CLI::IsMember({"higher", "lower"}));
}

}  // namespace kernelift::cli
