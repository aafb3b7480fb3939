// The findings about NVIDIA: each GPU as its driver describes it, whether kernels can be recorded and linked and their
// hardware counters read, and for each problem the command that fixes it. No CUDA context is created and nothing is
// changed; a missing driver is a finding like any other. The file is also compiled without CUDA's headers; then it
// reports that this build does not support NVIDIA GPUs.
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "cli/machine/machine.h"
#include "core/toolchain/cuda_libraries.h"
#if KERNELIFT_CUDA
#include "core/toolchain/cuda_driver.h"
#endif

namespace kernelift::cli {
namespace {

[[maybe_unused]] constexpr int kOldestDriver =
    13000;  // Images are compiled for CUDA 13; older drivers cannot load them.
constexpr const char* kUnlockCounters =
    "echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' | sudo tee /etc/modprobe.d/nvidia-profiling.conf, "
    "then reboot; or run as "
    "root (in a container: with CAP_SYS_ADMIN)";

/// "580.159.04" from /proc/driver/nvidia/version; empty if it cannot be read.
[[maybe_unused]] std::string driver_release() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line, word;
  std::getline(file, line);
  for (std::istringstream words(line); words >> word;)
    if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos) return word;
  return {};
}

/// Which users may read hardware counters, according to the driver's kernel module.
[[maybe_unused]] Finding counter_finding() {
  Finding finding{"devices", "counters", Health::Good, "permitted to every user", {}, false};
  std::ifstream file("/proc/driver/nvidia/params");
  bool reported = false, restricted = true;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("RmProfilingAdminOnly:")) reported = true, restricted = line.find('1') != std::string::npos;
  if (reported && !restricted) return finding;
  if (!reported) {
    finding.health = Health::Limited;
    finding.detail =
        "the driver does not state whether hardware counters may be read; a kernel's diagnosis may lack them";
    finding.fix = std::string("if replay --counters is refused: ") + kUnlockCounters;
  } else if (geteuid() == 0) {
    finding.detail = "permitted to root";
  } else {
    finding.health = Health::Limited;
    finding.detail = "for root only: a kernel's diagnosis lacks memory traffic, stalls and occupancy";
    finding.fix = kUnlockCounters;
  }
  return finding;
}

Finding library_finding(const char* name, const char* stem, const char* lost) {
  constexpr int kMajor = 13;
  Finding finding{"toolkits", name, Health::Good, {}, {}, false};
  auto path = find_cuda_library(stem, kMajor);
  if (path.ok()) {
    finding.detail = path->string();
    return finding;
  }
  finding.health = Health::Limited;
  finding.detail = lost;
  const std::string& message = path.error().message;
  size_t advice = message.find("; ");
  finding.fix = advice == std::string::npos ? message : message.substr(advice + 2);
  return finding;
}

Finding no_device(std::string detail, std::string fix) {
  return {"devices", "cuda", Health::Limited, std::move(detail), std::move(fix), false};
}

#if KERNELIFT_CUDA
std::vector<Finding> device_findings() {
  const char* install = "on a machine with an NVIDIA GPU: apt-get install nvidia-driver (or NVIDIA's own package)";
  auto opened = CudaDriver::open();
  if (!opened.ok()) return {no_device(opened.error().message + ": kernels run on the CPU device only", install)};
  const CudaDriver& driver = **opened;
  int count = 0, version = 0;
  CUresult answer = driver.cuInit(0);
  if (answer == CUDA_SUCCESS) answer = driver.cuDeviceGetCount(&count);
  if (answer != CUDA_SUCCESS || count == 0)
    return {no_device("the driver is installed but finds no GPU (" + cuda_error_text(driver, answer) + ")",
                      "check `nvidia-smi`; in a container, start it with the GPU (docker run --gpus all)")};
  driver.cuDriverGetVersion(&version);
  std::string release = driver_release();
  std::vector<Finding> findings;
  for (int i = 0; i < count; ++i) {
    char name[256] = "", text[400];
    int major = 0, minor = 0;
    size_t bytes = 0;
    CUdevice device = 0;
    driver.cuDeviceGet(&device, i);
    driver.cuDeviceGetName(name, sizeof name, device);
    driver.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    driver.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    driver.cuDeviceTotalMem(&bytes, device);
    std::snprintf(text, sizeof text, "%s, sm_%d%d, %.1f GiB, driver %s (CUDA %d.%d)", name, major, minor,
                  double(bytes) / (1 << 30), release.empty() ? "of unknown release" : release.c_str(), version / 1000,
                  version % 1000 / 10);
    Finding finding{"devices", "cuda:" + std::to_string(i), Health::Good, text, {}, false};
    if (version < kOldestDriver) {
      finding.health = Health::Limited;
      finding.detail += ": too old to load kernels that Kernelift compiles";
      finding.fix = "install driver 580 or newer";
    }
    findings.push_back(finding);
  }
  findings.push_back(counter_finding());
  return findings;
}
#else
std::vector<Finding> device_findings() {
  return {no_device("this build of Kernelift does not support NVIDIA GPUs: it was compiled without CUDA's headers",
                    "install the CUDA toolkit 13 and build Kernelift again")};
}
#endif

}  // namespace

std::vector<Finding> survey_nvidia() {
  std::vector<Finding> findings = {
      library_finding("CUPTI", "libcupti.so",
                      "none: applications cannot be recorded on a GPU, and hardware counters cannot be read"),
      library_finding("nvJitLink", "libnvJitLink.so", "none: candidates are compiled by the driver, which is slower"),
  };
  for (auto& finding : device_findings()) findings.push_back(std::move(finding));
  return findings;
}

}  // namespace kernelift::cli
