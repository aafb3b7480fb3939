// Where the time of a GPU runner's process goes, from its start to a confirmed finalist, phase by phase, on a GPU.
//   nvcc -arch=sm_90 -cubin -o kernel.cubin MEP/kernel.cu && gpu_phases_bench MEP kernel.cubin
// The image stands for everything: our build of the original, the application's, two roundings and the candidate.
#include <cstdio>

#include "core/base/file.h"
#include "sandbox/device/cuda/cuda_device.h"
#include "sandbox/device/cuda/judging_image.h"
#include "sandbox/evaluate/runner/runner.h"

namespace kernelift::sandbox {
namespace {

template <class F>
auto timed(const char* phase, const F& work) {
  auto begin = std::chrono::steady_clock::now();
  auto result = work();
  std::printf("%9.1f ms  %s\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() * 1e3,
              phase);
  return result;
}

int run(const std::string& folder, const std::string& file) {
  auto mep = Mep::read(folder);
  auto image = read_text(file);
  if (!mep.ok() || !image.ok()) return std::fprintf(stderr, "cannot read %s or %s\n", folder.c_str(), file.c_str()), 2;
  CudaDeviceOptions options;
  for (auto& instance : mep->instances)
    for (auto& region : instance.regions) options.wanted.push_back({region.address, region.address + region.size});
  auto device = timed("driver and context", [&] { return open_cuda_device(options); });
  if (!device.ok()) return std::fprintf(stderr, "%s\n", device.error().message.c_str()), 3;
  if (auto text = timed("our own kernels, as PTX", [&] { return (*device)->load(judging_ptx()); }); !text.ok())
    return std::fprintf(stderr, "%s\n", text.error().message.c_str()), 1;
  for (auto phase : {"our own kernels, ready to be used", "the same again"})
    if (auto support = timed(phase, [&] { return JudgingKernels::load(**device); }); !support.ok())
      return std::fprintf(stderr, "%s\n", support.error().message.c_str()), 1;
  RunnerSettings settings;
  auto runner = timed("runner: our own kernels, and the recorded memory placed",
                      [&] { return Runner::create(**device, *mep, folder, settings, [](const std::string&) {}); });
  if (!runner.ok()) return std::fprintf(stderr, "%s\n", runner.error().message.c_str()), 1;
  Original original;
  original.code.image = *image;
  auto report = timed("the original learnt", [&] { return (*runner)->calibrate(original); });
  if (!report.ok() || !report->pass())
    return std::fprintf(stderr, "%s\n", (report.ok() ? report->complaint() : report.error().message).c_str()), 1;
  original.application = *image;
  report = timed("the same again, with the application's code", [&] { return (*runner)->calibrate(original); });
  original.roundings = {*image, *image};
  report = timed("the same again, with two roundings", [&] { return (*runner)->calibrate(original); });
  for (auto& instance : report->instances)
    std::printf("           instance %s: %.2f us, as the application has it %.2f us\n", instance.id.c_str(),
                instance.seconds * 1e6, instance.application_seconds * 1e6);
  auto judge = [&](const char* phase, bool confirm, bool against) {
    Inquiry inquiry;
    inquiry.confirm = confirm, inquiry.against_application = against;
    auto evaluation = timed(phase, [&] { return (*runner)->evaluate(original.code, inquiry); });
    auto* verdict = evaluation ? std::get_if<Verdict>(&*evaluation) : nullptr;
    std::printf("           %s\n", verdict ? verdict->text().c_str() : "no verdict");
  };
  judge("a candidate screened", false, false);
  constexpr int kMany = 1000;
  Laps laps;
  timed("a thousand candidates screened", [&] {
    for (int i = 0; i < kMany; ++i) {
      (*runner)->evaluate(original.code, Inquiry{});
      laps.end_with((*runner)->laps(), "the rest");
    }
    return 0;
  });
  std::printf("           %s\n", laps.text().c_str());
  judge("a candidate screened against the application's code", false, true);
  judge("a finalist, the first: perturbed inputs are asked for", true, true);
  judge("a finalist, the second", true, true);
  timed("memory and context given back", [&] { return runner->reset(), device->reset(), 0; });
  return 0;
}

}  // namespace
}  // namespace kernelift::sandbox

int main(int count, char** words) {
  if (count != 3) return std::fprintf(stderr, "usage: gpu_phases_bench MEP CUBIN\n"), 2;
  return kernelift::sandbox::run(words[1], words[2]);
}
