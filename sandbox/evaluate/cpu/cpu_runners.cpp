// See cpu_runners.h.
#include "sandbox/evaluate/cpu/cpu_runners.h"

#include "sandbox/device/confined_cpu/confined_cpu.h"

namespace kernelift::sandbox {

Result<std::unique_ptr<ForkServer>> cpu_runners(const Mep& mep, const std::filesystem::path& folder,
                                                RunnerSettings settings, unsigned threads) {
  settings.keep_quiet = true;
  auto open = [threads](int) { return open_confined_cpu({.threads = threads}); };
  return RunnerProcess::fork_server(mep, std::filesystem::absolute(folder), settings,
                                    {.device = open, .prepare = prepare_for_confined_cpu});
}

}  // namespace kernelift::sandbox
