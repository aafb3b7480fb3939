// See judgement.h.
#include "cli/mcp/judgement.h"

#include <cmath>

namespace kernelift::cli::mcp {
namespace {

double rounded(double value) { return std::round(value * 1e4) / 1e4; }

/// What may be said of the speed of a right candidate.
const char* claim(const Verdict& verdict, bool confirmed) {
  if (verdict.timings.empty()) return "right on the recorded inputs; not timed";
  if (verdict.gains())
    return confirmed ? "right and faster, confirmed in a fresh process" : "right and faster, not confirmed";
  return verdict.speedup_high() < 1 ? "right and slower" : "right, and no faster beyond the noise";
}

}  // namespace

Json judgement_of(const Evaluation& evaluation, bool confirmed) {
  if (auto* none = std::get_if<NotJudged>(&evaluation))
    return {{"verdict", kNotJudged}, {"says", "could not be judged, which is not the candidate's fault: " + none->why}};
  // Nothing else of it reaches an agent.
  const Verdict verdict = std::get<Verdict>(evaluation).as_told();
  Json json = {{"verdict", name(verdict.outcome)}, {"stage", name(verdict.stage)}};
  json["says"] = verdict.ok() ? claim(verdict, confirmed) : verdict.text();
  if (verdict.ok() && !verdict.timings.empty()) {
    json["speedup"] = rounded(verdict.speedup());
    json["speedup_interval"] = {rounded(verdict.speedup_low()), rounded(verdict.speedup_high())};
    json["microseconds"] = rounded(1e6 * verdict.seconds());
    json["confirmed"] = confirmed;
  }
  if (!verdict.instance.empty() && !verdict.held_out) json["instance"] = verdict.instance;
  if (verdict.outcome == Outcome::Wrong && !verdict.buffer.empty() && !verdict.held_out)
    json["first_difference"] = {
        {"buffer", verdict.buffer}, {"index", verdict.index}, {"expected", verdict.expected}, {"got", verdict.got}};
  if (verdict.other_sizes && verdict.other_sizes->premise) json["right_only_if"] = verdict.other_sizes->premise->text();
  if (verdict.sizes_run && verdict.sizes_run->wrong && verdict.sizes_run->wrong->shown)
    json["wrong_at_size"] = verdict.sizes_run->wrong->size.text();
  auto beyond = verdict.beyond_recorded();
  if (!beyond.empty()) json["beyond_recorded_inputs"] = beyond;
  // What is not ok says its detail already, but on one line.
  const bool says_more = verdict.ok() ? !verdict.detail.empty() : verdict.detail.find('\n') != verdict.detail.npos;
  if (says_more && !verdict.held_out) json["detail"] = verdict.detail;
  json["device"] = verdict.device;
  json["seconds"] = rounded(verdict.compile_seconds + verdict.evaluate_seconds);
  return json;
}

Json without_hidden_sizes(Json value) {
  if (!value.is_structured()) return value;
  if (value.is_object())
    if (auto sizes = value.find("sizes_run"); sizes != value.end() && sizes->is_object()) {
      sizes->erase("seed");  // They follow from it.
      if (auto hidden = sizes->find("unshown"); hidden != sizes->end()) *hidden = hidden->size();
      if (auto wrong = sizes->find("wrong"); wrong != sizes->end() && !wrong->value("shown", true)) sizes->erase(wrong);
    }
  for (auto& one : value) one = without_hidden_sizes(std::move(one));
  return value;
}

}  // namespace kernelift::cli::mcp
