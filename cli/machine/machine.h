// What this machine has for Kernelift: compilers, toolkits, devices, confinement, Kernelift's own installed pieces. One
// list of findings, each with the command that closes its gap; `doctor` prints it, `optimize` refuses early by it.
#pragma once
#include <string>
#include <vector>

namespace kernelift::cli {

enum class Health { Good, Limited, Missing };

struct Finding {
  std::string area;  ///< "compilers", "toolkits", "devices", "isolation", "kernelift", "tools"
  std::string name;  ///< "nvcc"
  Health health = Health::Good;
  std::string detail;     ///< "13.0.88 at /usr/local/cuda/bin/nvcc", or what is lost without it.
  std::string fix;        ///< A command or one sentence; empty when good.
  bool required = false;  ///< Without it not even the CPU device works.
};

std::vector<Finding> survey_machine();

/// The NVIDIA part of it: areas "toolkits" (CUPTI, nvJitLink) and "devices" (each GPU, its counters).
std::vector<Finding> survey_nvidia();

}  // namespace kernelift::cli
