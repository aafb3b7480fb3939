// See single_launch.h.
#include "sandbox/evaluate/cuda/single_launch.h"

#include "core/base/file.h"
#include "core/base/wire.h"
#include "sandbox/evaluate/cuda/cuda_evaluator.h"
#include "sandbox/evaluate/runner/wire/runner_wire.h"
#include "sandbox/evaluate/runner/workbench.h"

namespace kernelift::sandbox {
namespace {

Result<SingleLaunch> read(const std::filesystem::path& file) {
  KERNELIFT_ASSIGN(std::string bytes, read_text(file));
  WireReader reader(bytes);
  SingleLaunch launch;
  launch.mep = reader.text(), launch.instance = reader.text(), launch.ordinal = static_cast<int>(reader.number());
  if (!take(reader, launch.code) || !reader.ok()) return refused(file.string() + " is not a launch");
  return launch;
}

}  // namespace

Status write(const SingleLaunch& launch, const std::filesystem::path& file) {
  WireWriter writer;
  writer.text(launch.mep.string()).text(launch.instance).number(static_cast<uint64_t>(launch.ordinal));
  put(writer, launch.code);
  return write_atomically(file, std::string_view(writer.take()));
}

Status launch_once(const std::filesystem::path& file) {
  KERNELIFT_ASSIGN(SingleLaunch launch, read(file));
  KERNELIFT_ASSIGN(Mep mep, Mep::read(launch.mep));
  std::erase_if(mep.instances, [&](auto& instance) { return instance.id != launch.instance; });
  if (mep.instances.empty()) return refused(launch.mep.string() + " has no instance " + launch.instance);
  CudaDeviceOptions options = device_options(mep);
  options.alone = true, options.ordinal = launch.ordinal;
  KERNELIFT_ASSIGN(std::unique_ptr<Device> device, open_cuda_device(options));
  // The parent process has its own limit for the whole process.
  RunnerSettings settings;
  settings.launch_limit = std::chrono::hours(1);
  KERNELIFT_ASSIGN(auto bench, Workbench::create(*device, mep, launch.mep, settings, [](auto&) {}));
  LoadedCode code;
  if (auto failure = code.load(*device, *bench->memory, mep, launch.code)) return environment_error(failure->detail);
  Steps steps(*bench->kernels);
  bench->memory->restore(steps, 0, false);
  code.set_up(steps, bench->memory->instances()[0], 0);
  steps.begin();
  code.launch(steps, 0);
  steps.end();
  const DeviceOutcome outcome = steps.run(settings.launch_limit);
  return outcome.ok() ? done() : environment_error(outcome.detail);
}

}  // namespace kernelift::sandbox
