// The scan and the capture are used if they can be read and ignored if not: they refine the messages and predictions,
// not the patch.
#include "reintegrate/apply_request.h"

#include <algorithm>
#include <set>

#include "core/base/file.h"
#include "core/base/process.h"
#include "core/base/shown/near_names.h"
#include "reintegrate/evidence.h"
#include "reintegrate/shape_choice.h"

namespace fs = std::filesystem;

namespace kernelift::reintegrate {

double share_of(const std::string& key, const std::vector<KernelShare>& shares) {
  for (auto& [kernel, share] : shares)
    if (kernel == key) return share;
  return 0;
}

std::vector<KernelShare> kernel_shares(const Capture& capture, ShareOf whole) {
  double whole_us = 1e6 * (whole == ShareOf::Span ? capture.info().span_seconds : capture.info().run_seconds);
  if (whole == ShareOf::Kernels) {
    whole_us = 0;
    for (auto& profile : capture.info().profile) whole_us += profile.total_us;
  }
  std::vector<KernelShare> shares;
  for (auto& profile : capture.info().profile)
    shares.push_back({profile.key, whole_us > 0 ? std::min(1.0, profile.total_us / whole_us) : 0});
  return shares;
}

bool profile_line_is_ambiguous(const std::string& key, const ScanIndex& scan,
                               const std::vector<CapturedInstance>& recorded) {
  // Counted by definition, because a header's kernel is one kernel in all units that include it.
  std::set<std::pair<std::string, uint64_t>> definitions;
  for (auto& kernel : scan.kernels)
    if (kernel.key == key) definitions.emplace(kernel.definition.file, kernel.definition.begin);
  std::set<std::string> units;
  for (auto& instance : recorded)
    if (instance.kernel == key) units.insert(instance.unit);
  return definitions.size() > 1 && (units.size() > 1 || units.contains(""));
}

LaunchGuard guard_of(const ApplyRequest& request, const Mep& mep, const Candidate& candidate, const Verdict& figures,
                     const std::optional<Expression>& where) {
  const LaunchGuard guard = request.guards ? guard_of(candidate, figures, mep) : LaunchGuard();
  return where ? guard.with(Premise::holds(*where)) : guard;
}

PatchQuestion patch_question(const ApplyRequest& request, const KernelChange& change) {
  const Verdict figures = change.known_figures();
  return {.mep = change.mep,
          .original = change.original,
          .candidate = change.candidate,
          .scan = request.scan ? &*request.scan : nullptr,
          .root = request.root,
          .embedded = change.embedded ? &*change.embedded : nullptr,
          .guard = guard_of(request, change.mep, change.candidate, figures, change.where),
          .repositories = request.repositories,
          .settled = change.figures ? settled_sizes(change.candidate, *change.figures) : nullptr,
          .launched_elsewhere = request.launched_elsewhere,
          .constants = change.constants};
}

Result<fs::path> find_run(const fs::path& name, const fs::path& state) {
  std::error_code code;
  fs::path file = name;
  // A program may have its kernel's name.
  if (!name.has_parent_path() && fs::is_regular_file(file, code) && !tuner::Run::is_one(file))
    if (auto latest = tuner::Run::last_written(state, name.string()); !latest.empty()) return latest;
  if (!fs::exists(file, code)) file = state / "runs" / name;
  if (!fs::exists(file, code)) file += ".klrun";
  if (!fs::exists(file, code)) file = tuner::Run::last_written(state, name.string());
  if (file.empty()) {
    const std::string near = did_you_mean(name.filename().string(), tuner::Run::names(state));
    return usage_error("there is no run '" + name.string() + "', as a file or under " + (state / "runs").string() +
                       (near.empty() ? "; `kernelift tune` makes one" : near));
  }
  return file;
}

Result<Embedding> embedding_on(const std::string& device, const std::string& asked) {
  bool cpu = device == "cpu";
  if (asked == "never") return Embedding::Never;
  if (asked == "auto") return cpu ? Embedding::Never : Embedding::Auto;
  if (asked != "only") return usage_error("--embed is never, auto or only, not '" + asked + "'");
  if (cpu) return usage_error("--embed only: embedded code is PTX for NVIDIA GPUs, and this is the CPU device");
  return Embedding::Only;
}

EmbeddedGain embedded_gain(const tuner::RunTrial& trial) {
  const Verdict& figures = trial.figures();
  if (!figures.device.starts_with("cuda")) return {};  // Only NVIDIA GPUs run PTX.
  // The counters hold the comparison with the application's own code. A recipe can be compiled by the tuner's compiler
  // only, and until it is confirmed it has been timed against clang's build of the original.
  if (trial.applicable() || trial.confirmed)
    return figures.embedded ? EmbeddedGain{figures.embedded->speedup, figures.embedded->speedup_low} : EmbeddedGain();
  return {figures.speedup(), figures.speedup_low()};
}

Result<RunOffer> offer_of(const tuner::Run& run, const fs::path& state, Embedding embedding) {
  RunOffer offer;
  offer.embedding = embedding;
  ApplyRequest& request = offer.request;
  const fs::path mep_folder = run.meta().mep;
  KERNELIFT_ASSIGN(request.mep, Mep::read(mep_folder));
  KERNELIFT_ASSIGN(auto trials, run.history());
  auto rank = [](const tuner::RunTrial& trial) {
    return std::pair(trial.confirmed.has_value(), trial.figures().speedup_low());
  };
  for (auto& trial : trials) {
    if (trial.candidate.tier == "baseline") {
      offer.own_ulps = trial.figures().largest_ulps.value_or(0);
      continue;
    }
    ++offer.tried;
    const bool by_shape = trial.applicable() && shape_choice(request.mep, trial.figures());
    bool patch = trial.applicable() && (trial.figures().gains() || by_shape);
    bool embed = embedding != Embedding::Never && embedded_gain(trial).low > kSmallestGain;
    if (!patch && !embed && !trial.figures().gains()) continue;
    if (patch || embed) {
      offer.promising.push_back(std::move(trial));
    } else if (!offer.compiler_gain || rank(trial) > rank(*offer.compiler_gain)) {
      offer.compiler_gain = std::move(trial);
    }
  }

  auto original = read_text(mep_folder / request.mep.kernel_file());
  if (!original.ok()) return environment_error(original.error().message + "; extract the MEP again");
  request.original = std::move(*original);
  request.root = request.mep.app_root;
  request.run_file = run.file().filename().string();
  request.state = state;
  auto capture = Capture::open(state / "capture");
  if (capture.ok()) offer.shares = kernel_shares(*capture), offer.recorded = capture->info().command;
  offer.kernel_share = share_of(request.mep.kernel_key, offer.shares);
  std::error_code code;
  if (!fs::is_directory(request.root, code))
    return environment_error("the application's root " + request.root.string() +
                             ", from which the kernel was extracted, no longer exists");
  if (auto scan = ScanIndex::read(state / "scan.json"); scan.ok()) request.scan = std::move(*scan);
  if (request.scan)
    for (auto& unit : request.scan->units) request.build_folders.push_back(unit.folder);
  if (request.scan && capture.ok() &&
      profile_line_is_ambiguous(request.mep.kernel_key, *request.scan, capture->instances())) {
    offer.kernel_share = 0;
    request.notes.push_back(
        "Nothing is predicted for the application: several files have a kernel of this name, and the share of each is "
        "not known.");
  }
  return offer;
}

namespace {

/// `cd data && ../app input > out`: one of the commands that a shell runs one after another is the recorded one. The
/// share that its kernel has of it is about that of all.
bool runs_among_others(const std::vector<std::string>& line, const std::vector<std::string>& recorded) {
  auto ends = [](const std::string& word) { return word == "&&" || word == ";" || word == "||"; };
  auto redirects = [](const std::string& word) { return word.starts_with('>') || word.starts_with("2>"); };
  for (size_t begin = 0; begin < line.size() && !recorded.empty(); ++begin) {
    if (begin > 0 && !ends(line[begin - 1])) continue;
    const auto stop = std::find_if(line.begin() + static_cast<ptrdiff_t>(begin), line.end(),
                                   [&](auto& word) { return ends(word) || redirects(word); });
    if (std::equal(line.begin() + static_cast<ptrdiff_t>(begin), stop, recorded.begin(), recorded.end())) return true;
  }
  return false;
}

}  // namespace

void set_commands(const std::string& run, const std::string& check, const std::optional<Metric>& metric,
                  RunOffer& offer) {
  offer.request.run = run, offer.request.check = check, offer.request.trial.metric = metric;
  const auto& key = offer.request.mep.kernel_key;
  if (metric && metric->is_kernel_span() && offer.kernel_share > 0) {
    auto profile = Capture::open(offer.request.state / "profile");
    offer.kernel_share = 0, offer.shares.clear();
    if (profile.ok() && profile->info().command == offer.recorded)
      offer.shares = kernel_shares(*profile, ShareOf::Span), offer.kernel_share = share_of(key, offer.shares);
  } else if (metric) {
    offer.kernel_share = 0;
  }
  if (metric && offer.kernel_share <= 0) {
    offer.request.notes.push_back("Nothing is predicted for the figure (" + metric->title() +
                                  "): the kernel's share of what it measures is not known.");
    return;
  }
  const std::string& timed = run.empty() ? check : run;
  if (timed.empty() || offer.recorded.empty() || offer.kernel_share <= 0) return;
  auto words = [](const std::string& line) {
    auto split = split_command(line);
    return split.ok() ? *split : std::vector{line};
  };
  const auto& then = offer.recorded;
  bool by_shell =
      then.size() == 3 && then[0] == "sh" && then[1] == "-c";  // `optimize` records a command line in this form.
  // What was found on PATH may have been a script that runs the program of that name (a shim of Python's).
  auto same = [](std::vector<std::string> asked, std::vector<std::string> recorded) {
    const bool on_path = !asked.empty() && asked[0].find('/') == std::string::npos;
    if (on_path && !recorded.empty()) recorded[0] = fs::path(recorded[0]).filename().string();
    return asked == recorded;
  };
  if (same(words(timed), by_shell ? words(then[2]) : then) || (!by_shell && runs_among_others(words(timed), then)))
    return;
  offer.kernel_share = 0, offer.shares.clear();
  offer.request.notes.push_back("Nothing is predicted for the application: the recorded command is '" +
                                (by_shell ? then[2] : join_command(then)) +
                                "', and the kernel's share of this run is not known.");
}

}  // namespace kernelift::reintegrate
