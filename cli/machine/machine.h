// Surveys the machine for `doctor`: compilers, toolkits, devices, sandboxing, Kernelift's own installed files. The
// result is a list of findings, each with the command that fixes what is missing.
#pragma once
#include <string>
#include <vector>

namespace kernelift::cli {

enum class Health { Good, Limited, Missing };

struct Finding {
  std::string area;  ///< "compilers", "toolkits", "devices", "isolation", "kernelift", "tools"
  std::string name;  ///< "nvcc"
  Health health = Health::Good;
  std::string detail;     ///< "13.0.88 at /usr/local/cuda/bin/nvcc", or what does not work without it.
  std::string fix;        ///< A command or one sentence; empty when good.
  bool required = false;  ///< If it is missing, not even the CPU device works.
};

std::vector<Finding> survey_machine();

/// The layers of the jail for candidates and their compilers: area "isolation".
std::vector<Finding> survey_jail();

/// The findings about NVIDIA: areas "toolkits" (CUPTI, nvJitLink) and "devices" (each GPU, hardware counters).
std::vector<Finding> survey_nvidia();

}  // namespace kernelift::cli
