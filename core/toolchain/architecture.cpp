// See architecture.h.
#include "core/toolchain/architecture.h"

#include <algorithm>
#include <charconv>

namespace kernelift {

int compute_capability(std::string_view architecture) {
  for (std::string_view prefix : {"sm_", "compute_"}) {
    int number = 0;
    if (architecture.starts_with(prefix))
      std::from_chars(architecture.data() + prefix.size(), architecture.data() + architecture.size(), number);
    if (number > 0) return number;
  }
  return 0;
}

std::string newest_architecture(const CompilerCommand& command) {
  constexpr int kNewest = 90, kOldest = 50, kDefault = 75;
  int best = 0;
  for (const std::string& name : command.architectures) {
    int number = name == "native" || name.starts_with("all") ? kNewest : compute_capability(name);
    if (number > 0) best = std::max(best, std::clamp(number, kOldest, kNewest));
  }
  return "sm_" + std::to_string(best ? best : kDefault);
}

std::string architecture_that_ran(const CompilerCommand& command, int ptx_version) {
  if (ptx_version <= 0) return newest_architecture(command);
  for (const std::string& name : command.architectures)
    if (compute_capability(name) == ptx_version) return name;
  return "sm_" + std::to_string(ptx_version);
}

TargetArchitecture TargetArchitecture::of(const std::string& source, const std::string& machine) {
  int wanted = compute_capability(source), there = compute_capability(machine);
  if (wanted == 0 || wanted > there) return {machine, machine};
  if (wanted == there) return {source, source};  // sm_90a has instructions that sm_90 lacks.
  return {source, machine};
}

std::string TargetArchitecture::nvcc_flag() const {
  if (source == machine) return "-arch=" + machine;
  return "-gencode=arch=compute_" + source.substr(source.find('_') + 1) + ",code=" + machine;
}

}  // namespace kernelift
