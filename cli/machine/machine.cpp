// Examines the machine in the way in which the stages use it: programs on PATH are run for their version, libraries are
// opened under the names that are opened later, and the jail's abilities are tried. Nothing is installed or changed.
#include "cli/machine/machine.h"

#include <dlfcn.h>
#include <sys/statvfs.h>

#include <fstream>
#include <thread>

#include "core/base/process.h"
#include "core/compiler/paths.h"
#include "sandbox/evaluate/cuda/device_sanitizer.h"
#include "sandbox/jail/layers.h"

namespace fs = std::filesystem;

namespace kernelift::cli {
namespace {

constexpr auto kVersionTimeout = std::chrono::seconds(20);
constexpr double kComfortableFreeGiB = 5;  // Enough for a capture of a few instances and the images of a run.

std::string first_line_with(const std::string& text, std::string_view word) {
  size_t at = text.find(word);
  if (at == std::string::npos) at = 0;
  size_t begin = text.rfind('\n', at);
  begin = begin == std::string::npos ? 0 : begin + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}

/// Runs `name --version`; the line that contains `word` becomes the detail.
Finding program(const char* area, const char* name, std::string_view word, std::string lost, std::string fix,
                bool required = false) {
  Finding finding{area, name, Health::Good, {}, {}, required};
  auto path = find_program(name);
  if (path) {
    ProcessOptions options;
    options.timeout = kVersionTimeout;
    auto outcome = run_process({path->string(), "--version"}, options);
    if (outcome.ok() && outcome->ok()) {
      finding.detail = first_line_with(outcome->out, word) + "  (" + path->string() + ")";
      return finding;
    }
    lost = path->string() + " --version fails; " + lost;
  } else {
    lost = "not found: " + lost;
  }
  finding.health = required ? Health::Missing : Health::Limited;
  finding.detail = std::move(lost);
  finding.fix = std::move(fix);
  return finding;
}

Finding cuda_toolkit_finding() {
  Finding finding{"toolkits", "CUDA toolkit", Health::Good, {}, {}, false};
  if (auto root = cuda_toolkit()) {
    finding.detail = root->string();
    if (std::ifstream header(*root / "include/cuda.h"); header)
      for (std::string line; std::getline(header, line);)
        if (line.starts_with("#define CUDA_VERSION ")) {
          int version = std::atoi(line.c_str() + 21);
          finding.detail =
              std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10) + " at " + root->string();
          break;
        }
    return finding;
  }
  finding.health = Health::Limited;
  finding.detail =
      "none found: the CPU device works with Kernelift's own headers, but kernels for NVIDIA GPUs cannot use libdevice "
      "(mathematical functions)";
  finding.fix = "install CUDA 13 from NVIDIA's repository, or set CUDA_HOME";
  return finding;
}

Finding cpu_finding() {
  std::string model = "this processor";
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name")) {
      model = line.substr(line.find(':') + 2);
      break;
    }
  return {"devices", "cpu", Health::Good, model + ", " + std::to_string(std::thread::hardware_concurrency()) + " cores",
          {},        true};
}

Finding hip_device_finding() {
  void* runtime = dlopen("libamdhip64.so", RTLD_NOW | RTLD_LOCAL);
  auto count = runtime ? reinterpret_cast<int (*)(int*)>(dlsym(runtime, "hipGetDeviceCount")) : nullptr;
  int devices = 0;
  const bool any = count && count(&devices) == 0 && devices > 0;
  return {"devices",
          "hip",
          Health::Limited,
          (any ? std::to_string(devices) + " AMD GPU(s); " : "") + "AMD GPUs are not supported yet",
          "run HIP applications with --device cpu, which needs no AMD software",
          false};
}

Finding own_piece(const char* name, const fs::path& path, const char* fix) {
  std::error_code code;
  bool there = fs::exists(path, code);
  return {"kernelift",      name, there ? Health::Good : Health::Missing, (there ? "" : "missing: ") + path.string(),
          there ? "" : fix, true};
}

Finding curl_finding() {
  Finding finding{"tools", "libcurl", Health::Good, {}, {}, false};
  for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4"})
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
      dlclose(library);
      finding.detail = name;
      return finding;
    }
  finding.health = Health::Limited;
  finding.detail = "none: tune --llm cannot send requests to a model";
  finding.fix = "apt-get install libcurl4 (Fedora, RHEL: dnf install libcurl)";
  return finding;
}

Finding sanitizer_finding() {
  Finding finding{"toolkits", "compute-sanitizer", Health::Good, {}, {}, false};
  if (auto program = sandbox::find_compute_sanitizer()) return finding.detail = program->string(), finding;
  finding.health = Health::Limited;
  finding.detail = "none: what is patched in for a GPU is not looked at by NVIDIA's own tools";
  finding.fix = "apt-get install cuda-sanitizer-13-0 from NVIDIA's repository, or put it on PATH";
  return finding;
}

Finding disk_finding() {
  struct statvfs info{};
  double free_gib = statvfs(".", &info) == 0 ? double(info.f_bavail) * double(info.f_frsize) / (1 << 30) : 0;
  char text[64];
  std::snprintf(text, sizeof text, "%.1f GiB free in this folder", free_gib);
  bool enough = free_gib >= kComfortableFreeGiB;
  return {"tools",
          "disk",
          enough ? Health::Good : Health::Limited,
          text,
          enough ? "" : "free some space, or keep captures on another disk with --state DIR",
          false};
}

}  // namespace

std::vector<Finding> survey_jail() {
  std::vector<Finding> findings;
  for (auto& layer : sandbox::jail_layers()) {
    Finding finding{"isolation", layer.name, Health::Good, {}, layer.fix, false};
    if (layer.works) {
      finding.detail = layer.mechanism + ": holds back " + layer.holds_back;
    } else {
      finding.health = layer.needed ? Health::Missing : Health::Limited;
      finding.detail = layer.mechanism + " is not available: " + layer.without;
      if (layer.needed) finding.detail += "; candidates run only with --allow-weak-jail";
    }
    findings.push_back(std::move(finding));
  }
  return findings;
}

std::vector<Finding> survey_machine() {
  std::vector<Finding> findings;
  findings.push_back(
      program("compilers", "g++", "g++", "applications cannot be compiled or linked", "apt-get install g++", true));
  findings.push_back(program("compilers", "nvcc", "release",
                             "applications built by nvcc cannot be rebuilt, nor their gains confirmed",
                             "install CUDA 13 from NVIDIA's repository and put its bin folder on PATH"));
  findings.push_back(cuda_toolkit_finding());
  std::vector<Finding> nvidia = survey_nvidia();
  for (auto& finding : nvidia)
    if (finding.area == "toolkits") findings.push_back(finding);
  findings.push_back(sanitizer_finding());
  findings.push_back(cpu_finding());
  for (auto& finding : nvidia)
    if (finding.area == "devices") findings.push_back(finding);
  findings.push_back(hip_device_finding());
  for (auto& finding : survey_jail()) findings.push_back(std::move(finding));
  findings.push_back(own_piece("headers", lean_headers() / "cuda_runtime.h", "reinstall Kernelift"));
  findings.push_back(own_piece("clang headers", clang_resource_folder() / "include/stddef.h",
                               "apt-get install libclang-common-22-dev"));
  findings.push_back(
      own_piece("CPU runtime", runtime_library_folder() / "libcudart.so", "build the target kernelift_cudart"));
  findings.push_back(
      own_piece("recorder", runtime_library_folder() / "libkernelift_record.so", "build the target kernelift_record"));
  Finding cuda_recorder = own_piece("CUDA recorder", runtime_library_folder() / "libkernelift_record_cuda.so",
                                    "install the CUDA toolkit 13 and build Kernelift again");
  if (cuda_recorder.health == Health::Missing)
    cuda_recorder.health = Health::Limited;  // A build without CUDA's headers is complete without it.
  cuda_recorder.required = false;
  findings.push_back(cuda_recorder);
  findings.push_back(own_piece("templates", template_folder(), "reinstall Kernelift"));
  findings.push_back(program("tools", "git", "git", "a kept patch is not committed, only the original files are saved",
                             "apt-get install git"));
  findings.push_back(program("tools", "cmake", "cmake", "CMake applications cannot be built", "apt-get install cmake"));
  findings.push_back(program("tools", "make", "Make", "Makefile applications cannot be built", "apt-get install make"));
  findings.push_back(curl_finding());
  findings.push_back(disk_finding());
  return findings;
}

}  // namespace kernelift::cli
