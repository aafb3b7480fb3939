// See idea_log.h.
#include "tuner/source/llm/idea_log.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace kernelift::tuner {
namespace {

constexpr std::string_view kPrefix = "llm/call/";

std::optional<PromptKind> kind_from_name(const std::string& wanted) {
  for (auto kind : {PromptKind::Hypotheses, PromptKind::Optimise, PromptKind::Combine})
    if (wanted == name(kind)) return kind;
  return std::nullopt;
}

Result<LoggedCall> call_from_json(const Json& from, const std::string& where) {
  return reading(where, [&] {
    LoggedCall call;
    call.number = from.at("number"), call.idea = from.at("idea"), call.model = from.at("model");
    call.kind = kind_from_name(from.at("kind")).value_or(PromptKind::Optimise);
    call.parent = from.at("parent"), call.card = from.at("card"), call.seconds = from.at("seconds");
    call.tokens = from.at("tokens"), call.candidate = from.at("candidate");
    call.cards = from.at("cards");
    return call;
  });
}

}  // namespace

const char* name(PromptKind kind) {
  const char* const names[] = {"hypotheses", "optimise", "combine"};
  return names[static_cast<size_t>(kind)];
}

IdeaLog::IdeaLog(KeptState state) : state_(std::move(state)) {
  for (auto& [key, value] : state_.known) {
    if (!key.starts_with(kPrefix)) continue;
    const Json json = Json::parse(value, nullptr, false);
    if (!json.is_object()) continue;
    auto call = call_from_json(json, key);
    if (!call.ok()) continue;
    if (!call->candidate.empty() && call->card) cards_[call->candidate] = call->card;
    calls_.emplace(call->number, *std::move(call));
  }
}

LoggedCall& IdeaLog::begin(LoggedCall call) {
  call.number = calls_.empty() ? 1 : calls_.rbegin()->first + 1;
  if (call.idea == 0) call.idea = call.number;
  LoggedCall& kept = calls_.emplace(call.number, std::move(call)).first->second;
  keep(kept);
  return kept;
}

LoggedCall* IdeaLog::find(int64_t number) {
  auto found = calls_.find(number);
  return found == calls_.end() ? nullptr : &found->second;
}

void IdeaLog::keep(const LoggedCall& call) {
  gained_.erase(call.number);  // Its candidate may be another one now: a fixed one.
  if (!call.candidate.empty() && call.card) cards_[call.candidate] = call.card;
  char key[32];
  std::snprintf(key, sizeof key, "%s%08lld", kPrefix.data(), static_cast<long long>(call.number));
  state_.put(key, compact({{"number", call.number},
                           {"idea", call.idea},
                           {"model", call.model},
                           {"kind", name(call.kind)},
                           {"parent", call.parent},
                           {"card", call.card},
                           {"seconds", call.seconds},
                           {"tokens", call.tokens},
                           {"candidate", call.candidate},
                           {"cards", call.cards}}));
}

uint64_t IdeaLog::ideas() const {
  return static_cast<uint64_t>(
      std::ranges::count_if(calls_, [](auto& entry) { return entry.second.idea == entry.second.number; }));
}

std::vector<IdeaCall> IdeaLog::calls(const std::vector<std::string>& models, const History& history) const {
  std::vector<IdeaCall> all;
  for (auto& [number, call] : calls_) {
    const auto model = static_cast<size_t>(std::ranges::find(models, call.model) - models.begin());
    if (model == models.size() || call.cards > 0) continue;
    IdeaCall made{model * kPromptKinds + static_cast<size_t>(call.kind), call.seconds, call.tokens, 0};
    if (!call.candidate.empty()) made.gained = gained(call, history);
    all.push_back(made);
  }
  return all;
}

double IdeaLog::gained(const LoggedCall& call, const History& history) const {
  if (auto known = gained_.find(call.number); known != gained_.end()) return known->second;
  auto key = Hash::from_hex(call.candidate);
  const RunTrial *trial = key ? history.by_key(*key) : nullptr, *parent = history.find(call.parent);
  if (!trial || !parent) return 0;
  const bool right = trial->verdict.ok() && parent->verdict.ok();
  return gained_[call.number] =
             right ? std::max(0.0, std::log(trial->verdict.speedup() / parent->verdict.speedup())) : 0;
}

int64_t IdeaLog::card_of(const std::string& candidate) const {
  auto found = cards_.find(candidate);
  return found == cards_.end() ? 0 : found->second;
}

}  // namespace kernelift::tuner
