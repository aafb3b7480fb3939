// See baseline.h.
#include "sandbox/evaluate/baseline.h"

#include <cmath>
#include <cstdio>

#include "core/compiler/paths.h"
#include "core/compiler/precompiled.h"
#include "core/toolchain/architecture.h"
#include "sandbox/judge/error_bounds.h"

namespace kernelift::sandbox {
namespace fs = std::filesystem;

namespace {

/// Folders of -I, -isystem, -iquote and -idirafter, joined or as the next word: workers need access to them.
std::vector<fs::path> include_folders(const std::vector<std::string>& flags) {
  std::vector<fs::path> folders;
  for (size_t i = 0; i < flags.size(); ++i)
    for (std::string_view flag : {"-isystem", "-iquote", "-idirafter", "-I"}) {
      if (!flags[i].starts_with(flag)) continue;
      if (flags[i].size() > flag.size()) folders.push_back(flags[i].substr(flag.size()));
      else if (i + 1 < flags.size()) folders.push_back(flags[i + 1]);
      break;
    }
  return folders;
}

/// Whether any recorded memory is compared as floating point.
bool holds_floats(const Mep& mep) {
  auto is_float = [](const std::string& element) { return ElementLayout::parse(element).has_floats(); };
  for (auto& instance : mep.instances) {
    for (auto& region : instance.regions)
      if (is_float(region.element)) return true;
    for (auto& variable : instance.variables)
      if (is_float(variable.element)) return true;
  }
  return false;
}

}  // namespace

Result<CompiledBaseline> compile_baseline(const Mep& mep, const fs::path& folder, CompilePoolOptions options) {
  CompiledBaseline baseline;
  const std::string file = mep.kernel_file();
  auto source = read_text(folder / file);
  if (!source.ok()) return environment_error(source.error().message + "; extract the MEP again");
  baseline.source = std::move(*source), baseline.kernel = mep.kernel_mangled;
  if (!mep.instances.empty()) baseline.block = mep.instances[0].geometry.block;
  options.frontend.file_name = file;
  options.frontend.language = mep.language;
  options.frontend.flags = mep.compile_flags;
  auto target = TargetArchitecture::of(mep.architecture, options.frontend.arch);
  options.frontend.arch = target.source, options.frontend.machine = target.machine;
  options.frontend.folder = fs::absolute(folder).string();
  for (auto& path : include_folders(mep.compile_flags))
    options.readable.push_back(path.is_relative() ? folder / path : path);
  options.readable.push_back(fs::absolute(folder));
  options.frontend.leading = leading_headers(baseline.source);
  auto is_applications = [&](const std::string& header) {
    std::error_code code;
    return std::ranges::any_of(options.readable, [&](auto& at) { return fs::exists(at / header, code); });
  };
  if (std::ranges::any_of(options.frontend.leading, is_applications)) options.frontend.leading.clear();
  options.hidden = recorded_data(folder);
  // First the headers that the slice was proven with; without that toolkit the lean headers may still work.
  std::vector<HeaderSet> sets{HeaderSet::Lean, HeaderSet::Toolkit};
  if (mep.headers == "toolkit") std::swap(sets[0], sets[1]);
  std::string first_trouble;
  for (HeaderSet headers : sets) {
    if (headers == HeaderSet::Toolkit && !cuda_toolkit()) continue;
    options.frontend.headers = headers;
    KERNELIFT_ASSIGN(baseline.pool, CompilePool::start(options));
    baseline.reply = baseline.pool->compile_own(baseline.source);
    if (baseline.reply.ok()) return baseline;
    if (first_trouble.empty()) first_trouble = baseline.reply.detail;
    if (baseline.reply.outcome == Outcome::Refused)
      return refused((folder / file).string() + " cannot run on the CPU device: " + baseline.reply.detail);
  }
  return environment_error("cannot compile " + (folder / file).string() + ": " + first_trouble);
}

Result<KernelModel> CompiledBaseline::model() const {
  if (!block) return usage_error("the MEP has no recorded launch, whose block the model would be of");
  return pool->model(source, kernel, *block);
}

Result<KernelModel> model_of(const Mep& mep, const fs::path& folder) {
  CompilePoolOptions options;
  options.workers = 1, options.few = true;
  KERNELIFT_ASSIGN(CompiledBaseline baseline, compile_baseline(mep, folder, options));
  return baseline.model();
}

std::vector<fs::path> recorded_data(const fs::path& mep_folder) {
  std::error_code code;
  const fs::path folder = fs::weakly_canonical(mep_folder, code), meps = folder.parent_path();
  std::vector<fs::path> hidden{folder / "data"};
  // An include folder may be the application's own, and have the state folder in it: STATE/mep/NAME.
  if (meps.filename() != "mep") return hidden;
  for (fs::directory_iterator at(meps.parent_path(), code), end; !code && at != end; at.increment(code))
    if (at->path() != meps) hidden.push_back(at->path());
  for (fs::directory_iterator at(meps, code), end; !code && at != end; at.increment(code))
    if (at->path() != folder) hidden.push_back(at->path());
  return hidden;
}

void add_roundings(const Mep& mep, CompiledBaseline& baseline, bool for_candidates) {
  if (!holds_floats(mep)) return;
  baseline.roundings.ways = baseline.pool->compile_roundings(baseline.source, baseline.reply);
  if (for_candidates)
    baseline.roundings.at_random = baseline.pool->compile_random_sums(baseline.source, baseline.reply);
}

Error late(const EvaluatorOptions& options, const Laps& laps, Error trouble) {
  if (!options.deadline || Deadline::clock::now() < *options.deadline || trouble.exit != Exit::No) return trouble;
  const std::string parts = laps.text();
  return answer_is_no("the time was over before the original had been measured" +
                      (parts.empty() ? "" : " (" + parts + ")") +
                      ", so nothing could be tried; give it more time (--time)");
}

void tell_beginning(const EvaluatorOptions& options, const Laps& laps) {
  constexpr double kGoodPart = 0.2, kLong = 5;  // Seconds, where the time has no end.
  if (!options.tell) return;
  double all = 0;
  if (options.deadline && options.begun)
    all = std::chrono::duration<double>(*options.deadline - *options.begun).count();
  if (laps.seconds() < (all > 0 ? kGoodPart * all : kLong)) return;
  char text[64];
  (void)std::snprintf(text, sizeof text, "measuring the original took %.1f s", laps.seconds());
  std::string of_all;
  if (all > 0) of_all = " of " + std::to_string(std::lround(all)) + " s";
  options.tell(text + of_all + ": " + laps.text());
}

}  // namespace kernelift::sandbox
