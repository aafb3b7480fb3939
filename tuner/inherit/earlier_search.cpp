// See earlier_search.h.
#include "tuner/inherit/earlier_search.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/file.h"

namespace fs = std::filesystem;

namespace kernelift::tuner {
namespace {

constexpr size_t kMostRuns = 4;  ///< Latest ones; more would cost time at the start and say little that is new.

}  // namespace

EarlierRun EarlierSearch::parameters() const {
  std::map<std::string, std::set<int64_t>> values;
  for (auto& trial : trials)
    for (auto& [name, value] : trial.candidate.values) values[name].insert(value);
  EarlierRun run{file.filename().string(), {}};
  for (auto& [name, seen] : values) run.parameters.push_back({name, {seen.begin(), seen.end()}});
  for (auto& trial : trials) {
    if (!trial.applicable()) continue;
    Point point;
    for (auto& parameter : run.parameters) {
      auto value = trial.candidate.values.find(parameter.name);
      if (value == trial.candidate.values.end()) break;
      auto at = std::ranges::lower_bound(parameter.values, value->second);
      point.push_back(static_cast<uint16_t>(at - parameter.values.begin()));
    }
    // One without all values is of a text that has other parameters.
    if (point.empty() || point.size() < run.parameters.size()) continue;
    const bool ok = trial.verdict.ok() && trial.verdict.speedup() > 0;
    run.trials.push_back({std::move(point), ok, ok ? 1 / trial.verdict.speedup() : 0});
  }
  return run;
}

FirstClose first_close(const std::vector<RunTrial>& trials) {
  FirstClose close;
  for (auto& trial : trials)
    if (trial.candidate.tier != "baseline" && trial.figures().ok())
      close.best = std::max(close.best, trial.figures().speedup_low());
  if (close.best <= kSmallestGain) return {};
  size_t tried = 0;
  for (auto& trial : trials) {
    if (trial.candidate.tier == "baseline") continue;
    ++tried;
    if (!trial.figures().ok() || trial.figures().speedup_low() < (1 - kClose) * close.best) continue;
    close.evaluations = tried, close.seconds = trial.at;
    break;
  }
  return close;
}

namespace {

Result<EarlierSearch> read(const Run& run, const fs::path& file) {
  EarlierSearch made{file, run.meta().device, {}};
  KERNELIFT_ASSIGN(made.trials, run.history());
  if (!made.trials.empty() && !made.trials[0].verdict.device.empty()) made.device = made.trials[0].verdict.device;
  return made;
}

}  // namespace

Result<EarlierSearch> read_earlier(const fs::path& file, const std::string& kernel) {
  KERNELIFT_ASSIGN(Run run, Run::open(file));
  if (run.meta().kernel == kernel) return read(run, file);
  return usage_error(file.string() + ": is a run of '" + run.meta().kernel + "', not of '" + kernel +
                     "'; only runs of the same kernel can be inherited");
}

std::vector<EarlierSearch> find_earlier(const fs::path& state, const std::string& kernel, bool on_cpu,
                                        std::vector<std::string>& notes) {
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  std::error_code code;
  for (auto& path : paths_in(state / "runs"))
    if (path.extension() == ".klrun") files.emplace_back(fs::last_write_time(path, code), path);
  std::ranges::sort(files, std::greater{});
  std::vector<EarlierSearch> found;
  for (auto& [when, file] : files) {
    if (found.size() == kMostRuns) break;
    auto run = Run::open(file);
    if (run.ok() && (run->meta().kernel != kernel || (run->meta().device == "cpu") != on_cpu)) continue;
    auto earlier = run.ok() ? read(*run, file) : Result<EarlierSearch>(std::move(run).error());
    if (!earlier.ok()) notes.push_back("not inherited: " + earlier.error().message);
    else if (earlier->trials.size() > 1) found.push_back(std::move(*earlier));
  }
  return found;
}

}  // namespace kernelift::tuner
