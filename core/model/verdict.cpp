// Names, weighted figures and JSON of verdicts; see verdict.h.
#include "core/model/verdict.h"

#include <cstdio>
#include <optional>

namespace kernelift {
namespace {

constexpr const char* kOutcomeNames[] = {
    "ok",        "refused", "compile_failed", "compile_crashed", "over_resources", "launch_failed", "crashed",
    "timed_out", "wrong",   "wrote_outside",  "unstable",        "suspect",        "cheated"};
constexpr const char* kStageNames[] = {"admit", "compile", "load", "launch", "verify", "time"};

template <class Enum, size_t N>
Result<Enum> find_name(const char* const (&names)[N], const std::string& text, const char* what) {
  for (size_t i = 0; i < N; ++i)
    if (text == names[i]) return static_cast<Enum>(i);
  return environment_error("'" + text + "' is not " + what + " that this Kernelift knows");
}

/// The factor by which the kernel's whole time shrinks when each instance's share of it (its weight) shrinks by
/// `ratio`.
template <class Ratio>
double overall(const std::vector<Timing>& timings, Ratio ratio) {
  double before = 0, after = 0;
  for (auto& timing : timings) {
    if (ratio(timing) <= 0) return 0;
    before += timing.weight;
    after += timing.weight / ratio(timing);
  }
  return after > 0 ? before / after : 0;
}

}  // namespace

const char* name(Outcome outcome) { return kOutcomeNames[static_cast<size_t>(outcome)]; }
const char* name(Stage stage) { return kStageNames[static_cast<size_t>(stage)]; }
Result<Outcome> outcome_from_name(const std::string& text) {
  return find_name<Outcome>(kOutcomeNames, text, "an outcome");
}
Result<Stage> stage_from_name(const std::string& text) { return find_name<Stage>(kStageNames, text, "a stage"); }

double Verdict::seconds() const {
  double sum = 0, weights = 0;
  if (ok())
    for (auto& timing : timings) sum += timing.weight * timing.seconds, weights += timing.weight;
  return weights > 0 ? sum / weights : 0;
}

double Verdict::speedup() const {
  return ok() ? overall(timings, [](const Timing& t) { return t.speedup; }) : 0;
}

double Verdict::speedup_low() const {
  return ok() ? overall(timings, [](const Timing& t) { return t.speedup_low; }) : 0;
}

double Verdict::speedup_high() const {
  return ok() ? overall(timings, [](const Timing& t) { return t.speedup_high; }) : 0;
}

std::string Verdict::text() const {
  char line[160];
  if (ok()) {
    std::snprintf(line, sizeof line, "ok: %.3fx (at least %.3fx), %.1f us", speedup(), speedup_low(), seconds() * 1e6);
    return line;
  }
  std::string text = std::string(name(outcome)) + " at " + name(stage);
  if (!instance.empty()) text += " on instance " + instance;
  if (outcome == Outcome::Wrong) {
    std::snprintf(line, sizeof line, "[%llu]", static_cast<unsigned long long>(index));
    text += ": " + buffer + line + " expected " + expected + ", got " + got;
  }
  if (!detail.empty()) text += ": " + detail;
  return text;
}

Json to_json(const Verdict& verdict) {
  Json timings = Json::array(), counters = Json::object();
  for (auto& timing : verdict.timings)
    timings.push_back({{"instance", timing.instance},
                       {"weight", timing.weight},
                       {"baseline_seconds", timing.baseline_seconds},
                       {"seconds", timing.seconds},
                       {"speedup", timing.speedup},
                       {"speedup_low", timing.speedup_low},
                       {"speedup_high", timing.speedup_high},
                       {"samples", timing.samples},
                       {"cold", timing.cold}});
  for (auto& [key, value] : verdict.counters) counters[key] = value;
  return {{"outcome", name(verdict.outcome)},
          {"stage", name(verdict.stage)},
          {"detail", verdict.detail},
          {"instance", verdict.instance},
          {"buffer", verdict.buffer},
          {"expected", verdict.expected},
          {"got", verdict.got},
          {"index", verdict.index},
          {"distance", verdict.distance},
          {"timings", timings},
          {"counters", counters},
          {"device", verdict.device},
          {"compile_seconds", verdict.compile_seconds},
          {"evaluate_seconds", verdict.evaluate_seconds}};
}

Result<Verdict> verdict_from_json(const Json& from, const std::string& where) {
  Status status;
  auto read = reading(where, [&] {
    Verdict verdict;
    auto outcome = outcome_from_name(from.at("outcome"));
    auto stage = stage_from_name(from.at("stage"));
    if (outcome.ok()) verdict.outcome = *outcome;
    else status = outcome.error();
    if (stage.ok()) verdict.stage = *stage;
    else status = stage.error();
    verdict.detail = from.at("detail");
    verdict.instance = from.at("instance");
    verdict.buffer = from.at("buffer");
    verdict.expected = from.at("expected");
    verdict.got = from.at("got");
    verdict.index = from.at("index");
    // JSON has no NaN or infinity: they are written as null.
    verdict.distance = from.at("distance").is_number() ? from.at("distance").get<double>() : __builtin_inf();
    verdict.device = from.at("device");
    verdict.compile_seconds = from.at("compile_seconds");
    verdict.evaluate_seconds = from.at("evaluate_seconds");
    for (auto& [key, value] : from.at("counters").items())
      verdict.counters[key] = value.is_number() ? value.get<double>() : 0;
    for (auto& entry : from.at("timings")) {
      Timing timing;
      timing.instance = entry.at("instance");
      timing.weight = entry.at("weight");
      timing.baseline_seconds = entry.at("baseline_seconds");
      timing.seconds = entry.at("seconds");
      timing.speedup = entry.at("speedup");
      timing.speedup_low = entry.at("speedup_low");
      timing.speedup_high = entry.at("speedup_high");
      timing.samples = entry.at("samples");
      timing.cold = entry.at("cold");
      verdict.timings.push_back(timing);
    }
    return verdict;
  });
  if (read.ok() && !status.ok()) return std::move(status).error().in(where);
  return read;
}

Json to_json(const Evaluation& evaluation) {
  if (auto* verdict = std::get_if<Verdict>(&evaluation)) return to_json(*verdict);
  return {{"outcome", kNotJudged}, {"detail", std::get<NotJudged>(evaluation).why}};
}

Result<Evaluation> evaluation_from_json(const Json& from, const std::string& where) {
  auto none = reading(where, [&]() -> std::optional<NotJudged> {
    if (from.at("outcome") != kNotJudged) return std::nullopt;
    return NotJudged{from.at("detail")};
  });
  if (!none.ok()) return std::move(none).error();
  if (*none) return Evaluation(**std::move(none));
  KERNELIFT_ASSIGN(Verdict verdict, verdict_from_json(from, where));
  return Evaluation(std::move(verdict));
}

}  // namespace kernelift
