// Scan and capture are used when they can be read and passed over when not: they refine what is said, not what is done.
#include "reintegrate/apply_request.h"

#include "core/base/file.h"
#include "core/model/capture.h"

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

}  // namespace

Result<fs::path> find_run(const fs::path& name, const fs::path& state) {
  std::error_code code;
  fs::path file = name;
  if (!fs::exists(file, code)) file = state / "runs" / name;
  if (!fs::exists(file, code)) file = Run::latest_path(state, name.string());
  if (file.empty() || !fs::exists(file, code))
    return usage_error("there is no run '" + name.string() + "', as a file or under " + (state / "runs").string() + "; `kernelift tune` makes one");
  return file;
}

Result<Embedding> embedding_from_name(const std::string& name) {
  if (name == "never") return Embedding::Never;
  if (name == "auto") return Embedding::Auto;
  if (name == "only") return Embedding::Only;
  return usage_error("--embed is never, auto or only, not '" + name + "'");
}

EmbeddedGain embedded_gain(const RunTrial& trial) {
  const Verdict& figures = trial.figures();
  if (!figures.device.starts_with("cuda")) return {};  // Elsewhere nothing runs PTX.
  auto counter = [&](const char* name) {
    auto found = figures.counters.find(name);
    return found == figures.counters.end() ? 0.0 : found->second;
  };
  // Of one source two compilers make two programs; of a recipe only the tuner's own can make anything.
  if (trial.candidate.recipe.is_default()) return {counter("embedded_speedup"), counter("embedded_speedup_low")};
  return {figures.speedup(), figures.speedup_low()};
}

Result<RunOffer> offer_of(const Run& run, const fs::path& state, Embedding embedding) {
  RunOffer offer;
  offer.embedding = embedding;
  KERNELIFT_ASSIGN(auto trials, run.history());
  for (auto& trial : trials) {
    if (trial.candidate.tier == "baseline") continue;
    bool patch = trial.applicable() && trial.figures().speedup_low() > kSmallestGain;
    bool embed = embedding != Embedding::Never && embedded_gain(trial).low > kSmallestGain;
    if (!patch && !embed && trial.figures().speedup_low() <= kSmallestGain) continue;
    if (patch || embed) {
      offer.promising.push_back(std::move(trial));
    } else if (trial.confirmed && (!offer.compiler_gain || trial.figures().speedup_low() > offer.compiler_gain->figures().speedup_low())) {
      offer.compiler_gain = std::move(trial);
    }
  }

  ApplyRequest& request = offer.request;
  fs::path mep_folder = run.meta().mep;
  KERNELIFT_ASSIGN(request.mep, Mep::read(mep_folder));
  const char* kernel_file = request.mep.language == "hip" ? "kernel.hip" : "kernel.cu";
  KERNELIFT_ASSIGN(request.original, read_text(mep_folder / kernel_file));
  request.root = request.mep.app_root;
  request.state = state;
  offer.kernel_share = share_of(request.mep.kernel_key, state);
  std::error_code code;
  if (!fs::is_directory(request.root, code))
    return environment_error("the application's root " + request.root.string() + ", from which the kernel was extracted, is not there any more");
  if (auto scan = ScanIndex::read(state / "scan.json"); scan.ok()) request.scan = std::move(*scan);
  if (request.scan)
    for (auto& unit : request.scan->units) request.build_folders.push_back(unit.folder);
  return offer;
}

}  // namespace kernelift
