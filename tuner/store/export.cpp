// See export.h. Kernel Tuner spells it "miliseconds", and its readers compare the word.
#include "tuner/store/export.h"

#include <algorithm>
#include <set>

namespace kernelift::tuner {
namespace {

constexpr int kHashDigits = 12;  ///< Enough to distinguish a run's sources.

double milliseconds(double seconds) { return seconds * 1e3; }

/// T4's names of failures.
const char* invalidity(Outcome outcome) {
  switch (outcome) {
    case Outcome::Ok: return "correct";
    case Outcome::Refused: return "constraints";
    case Outcome::CompileFailed:
    case Outcome::CompileCrashed: return "compile";
    case Outcome::Wrong:
    case Outcome::WroteOutside:
    case Outcome::Cheated: return "correctness";
    case Outcome::TimedOut: return "timeout";
    default: return "runtime";
  }
}

const char* failure_class(Outcome outcome) {
  std::string word = invalidity(outcome);
  return word == "compile"       ? "CompilationFailedConfig"
         : word == "constraints" ? "InvalidConfig"
                                 : "RuntimeFailedConfig";
}

struct Table {
  std::vector<std::string> names;
  std::vector<Json> rows;  ///< Configurations, one per trial.
};

Table configurations(const std::vector<RunTrial>& trials) {
  Table table;
  std::set<std::string> names;
  for (auto& trial : trials)
    for (auto& [name, value] : trial.candidate.values) names.insert(name);
  table.names.assign(names.begin(), names.end());
  for (auto* extra : {"kernelift_source", "kernelift_recipe", "kernelift_launch"}) table.names.push_back(extra);
  for (auto& trial : trials) {
    Json row = Json::object();
    for (auto& name : names) {
      auto value = trial.candidate.values.find(name);
      row[name] = value == trial.candidate.values.end() ? Json("original") : Json(value->second);
    }
    row["kernelift_source"] = hash_text(trial.candidate.source).hex().substr(0, kHashDigits);
    row["kernelift_recipe"] = trial.candidate.recipe.text();
    row["kernelift_launch"] = trial.candidate.key().hex().substr(0, kHashDigits);
    table.rows.push_back(std::move(row));
  }
  return table;
}

Json t4(const std::vector<RunTrial>& trials, const Table& table, const RunMeta& meta) {
  Json results = Json::array();
  for (size_t i = 0; i < trials.size(); ++i) {
    auto& verdict = trials[i].figures();
    Json runtimes = Json::array();
    for (auto& timing : verdict.timings) runtimes.push_back(milliseconds(timing.seconds));
    Json value = verdict.ok() ? Json(milliseconds(verdict.seconds())) : Json(failure_class(verdict.outcome));
    results.push_back({{"timestamp", meta.started},
                       {"configuration", table.rows[i]},
                       {"times",
                        {{"compilation", milliseconds(verdict.compile_seconds)},
                         {"framework", milliseconds(verdict.evaluate_seconds)},
                         {"search_algorithm", 0},
                         {"validation", 0},
                         {"runtimes", runtimes}}},
                       {"invalidity", invalidity(verdict.outcome)},
                       {"correctness", verdict.ok() ? 1 : 0},
                       {"measurements", {{{"name", "time"}, {"value", value}, {"unit", "ms"}}}},
                       {"objectives", {"time"}}});
  }
  return {{"metadata", {{"timeunit", "miliseconds"}}}, {"results", results}, {"schema_version", "1.0.0"}};
}

Json cachefile(const std::vector<RunTrial>& trials, const Table& table, const RunMeta& meta) {
  Json tune_params = Json::object(), cache = Json::object();
  for (auto& name : table.names) {
    std::vector<Json> values;
    for (auto& row : table.rows)
      if (std::find(values.begin(), values.end(), row[name]) == values.end()) values.push_back(row[name]);
    tune_params[name] = values;
  }
  for (size_t i = 0; i < trials.size(); ++i) {
    auto& verdict = trials[i].figures();
    std::string key;
    Json entry = table.rows[i], times = Json::array();
    for (auto& name : table.names) {
      const Json& value = table.rows[i][name];
      key += (key.empty() ? "" : ",") + (value.is_string() ? value.get<std::string>() : compact(value));
    }
    for (auto& timing : verdict.timings) times.push_back(milliseconds(timing.seconds));
    entry["time"] = verdict.ok() ? Json(milliseconds(verdict.seconds())) : Json(failure_class(verdict.outcome));
    entry["times"] = times;
    entry["compile_time"] = milliseconds(verdict.compile_seconds);
    entry["verification_time"] = 0;
    entry["benchmark_time"] = milliseconds(verdict.evaluate_seconds);
    entry["strategy_time"] = 0;
    entry["framework_time"] = 0;
    entry["timestamp"] = meta.started;
    cache[key] = entry;
  }
  std::string device = trials.empty() ? meta.device : trials[0].verdict.device;
  return {{"device_name", device},
          {"kernel_name", meta.kernel},
          {"problem_size", {1}},
          {"tune_params_keys", table.names},
          {"tune_params", tune_params},
          {"objective", "time"},
          {"cache", cache}};
}

Json own(const std::vector<RunTrial>& trials, const RunMeta& meta) {
  Json document = artefact("kernelift-run", kRunVersion, kRunVersion);
  document["mep"] = meta.mep, document["kernel"] = meta.kernel, document["device"] = meta.device;
  document["seed"] = meta.seed, document["tiers"] = meta.tiers, document["started"] = meta.started;
  document["seconds_spent"] = meta.seconds_spent;
  Json rows = Json::array();
  for (auto& trial : trials) {
    Json row{{"id", trial.id},
             {"at", trial.at},
             {"parents", trial.parents},
             {"candidate", to_json(trial.candidate)},
             {"verdict", to_json(trial.verdict)}};
    row["confirmed"] = trial.confirmed ? to_json(*trial.confirmed) : Json(nullptr);
    rows.push_back(std::move(row));
  }
  document["trials"] = std::move(rows);
  return document;
}

}  // namespace

Result<Json> export_run(const Run& run, const std::string& format) {
  KERNELIFT_ASSIGN(auto trials, run.history());
  if (format == "json") return own(trials, run.meta());
  Table table = configurations(trials);
  if (format == "t4") return t4(trials, table, run.meta());
  if (format == "cachefile") return cachefile(trials, table, run.meta());
  return usage_error("'" + format + "' is not an export format; there are t4, cachefile and json");
}

}  // namespace kernelift::tuner
