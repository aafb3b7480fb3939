// Scan and capture are used when they can be read and passed over when not: they refine what is said, not what is done.
#include "reintegrate/apply_request.h"

#include "core/base/file.h"
#include "core/model/capture.h"
#include "tuner/store/run.h"

namespace fs = std::filesystem;

namespace kernelift {
namespace {

double share_of(const std::string& key, const fs::path& state) {
  auto capture = Capture::open(state / "capture");
  if (!capture.ok() || capture->info().run_seconds <= 0) return 0;
  for (auto& profile : capture->info().profile)
    if (profile.key == key) return std::min(1.0, profile.total_us * 1e-6 / capture->info().run_seconds);
  return 0;
}

std::string percent(double gain) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2fx", gain);
  return text;
}

}  // namespace

Result<ApplyRequest> request_from_run(const fs::path& name, const fs::path& state) {
  std::error_code code;
  fs::path file = name;
  if (!fs::exists(file, code)) file = state / "runs" / name;
  if (!fs::exists(file, code)) file = Run::latest_path(state, name.string());
  if (file.empty() || !fs::exists(file, code))
    return usage_error("there is no run '" + name.string() + "', as a file or under " + (state / "runs").string() + "; `kernelift tune` makes one");
  KERNELIFT_ASSIGN(Run run, Run::open(file));
  KERNELIFT_ASSIGN(auto best, run.best(true));
  KERNELIFT_ASSIGN(auto any, run.best(false));
  auto promised = [](const std::optional<RunTrial>& trial) { return trial ? trial->figures().speedup_low() : 0; };
  if (promised(best) <= kSmallestGain) {
    if (promised(any) > kSmallestGain)
      return refused("the gain of this run (" + percent(any->figures().speedup()) + ") is in how the kernel is compiled (" + any->candidate.recipe.text() +
                     "), which the application's own compiler is not told by its source");
    return answer_is_no("nothing in " + file.string() + " is measurably faster than the original: there is nothing to apply");
  }

  ApplyRequest request;
  fs::path mep_folder = run.meta().mep;
  KERNELIFT_ASSIGN(request.mep, Mep::read(mep_folder));
  const char* kernel_file = request.mep.language == "hip" ? "kernel.hip" : "kernel.cu";
  KERNELIFT_ASSIGN(request.original, read_text(mep_folder / kernel_file));
  request.candidate = best->candidate;
  request.root = request.mep.app_root;
  request.state = state;
  request.predicted = {best->figures().speedup(), share_of(request.mep.kernel_key, state)};
  if (!fs::is_directory(request.root, code))
    return environment_error("the application's root " + request.root.string() + ", from which the kernel was extracted, is not there any more");
  if (auto scan = ScanIndex::read(state / "scan.json"); scan.ok()) request.scan = std::move(*scan);
  if (request.scan)
    for (auto& unit : request.scan->units) request.build_folders.push_back(unit.folder);
  return request;
}

}  // namespace kernelift
