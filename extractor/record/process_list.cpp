// See process_list.h.
#include "extractor/record/process_list.h"

#include <algorithm>
#include <cstdio>

#include "core/base/process.h"
#include "core/base/shown/outside_text.h"
#include "extractor/record/hot_list.h"
#include "extractor/record/profile.h"

namespace kernelift::record {
namespace {

RecordedProcess summary(const CaptureInfo& info, const std::string& name, bool chosen) {
  RecordedProcess process{name, info.rank, info.command, info.run_seconds, 0, 0, chosen};
  for (auto& kernel : info.profile) process.kernel_us += kernel.total_us, process.launches += kernel.count;
  return process;
}

}  // namespace

CaptureInfo sum_of(const std::vector<CaptureInfo>& processes, const std::vector<std::string>& names, size_t chosen) {
  constexpr double kHardly = 0.01;  // Of the kernels' time.
  CaptureInfo sum = processes[chosen];
  if (processes.size() == 1) return sum;
  sum.run_seconds = sum.span_seconds = sum.recorder_seconds = 0;
  double kernel_us = 0;
  std::vector<KernelProfile> profiles;
  for (size_t i = 0; i < processes.size(); ++i) {
    const CaptureInfo& one = processes[i];
    sum.processes.push_back(summary(one, names[i], i == chosen));
    kernel_us += sum.processes.back().kernel_us;
    profiles.insert(profiles.end(), one.profile.begin(), one.profile.end());
    sum.span_seconds += one.span_seconds, sum.recorder_seconds += one.recorder_seconds;
  }
  for (auto& process : sum.processes)
    if (process.kernel_us >= kHardly * kernel_us) sum.run_seconds += process.run_seconds;
  sum.profile = merge_profiles(std::move(profiles));
  return sum;
}

std::string title(const RecordedProcess& process) {
  return process.rank ? "rank " + std::to_string(*process.rank) : process.name;
}

std::string process_list(const std::vector<RecordedProcess>& processes, size_t most) {
  if (processes.size() < 2) return "";
  auto ordered = processes;
  std::ranges::sort(ordered, {}, [](auto& one) { return std::pair(one.rank.value_or(~uint64_t(0)), one.name); });
  size_t width = 7;
  for (auto& process : ordered) width = std::max(width, title(process).size());
  char line[160];
  std::snprintf(line, sizeof line, "%-*s %9s %9s %9s  %s\n", int(width), "Process", "Kernels", "Run", "Launches",
                "Command");
  std::string text = line;
  for (size_t i = 0; i < ordered.size() && i < most; ++i) {
    auto& process = ordered[i];
    std::snprintf(line, sizeof line, "%-*s %9s %9s %9llu  ", int(width), title(process).c_str(),
                  duration_text(process.kernel_us).c_str(), duration_text(1e6 * process.run_seconds).c_str(),
                  static_cast<unsigned long long>(process.launches));
    constexpr size_t kLongestCommand = 60;
    text += line + shown_line(join_command(process.command), kLongestCommand) +
            (process.images ? "  (its memory is captured)\n" : "\n");
  }
  if (ordered.size() > most) text += "and " + std::to_string(ordered.size() - most) + " more processes\n";
  return text;
}

}  // namespace kernelift::record
