// See hypothesis_board.h.
#include "tuner/source/hypotheses/hypothesis_board.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace kernelift::tuner {
namespace {

constexpr std::string_view kPrefix = "llm/card/";

}  // namespace

HypothesisBoard::HypothesisBoard(KeptState state) : state_(std::move(state)) {
  for (auto& [key, value] : state_.known) {
    if (!key.starts_with(kPrefix)) continue;
    const Json json = Json::parse(value, nullptr, false);
    if (!json.is_object()) continue;
    auto card = hypothesis_from_json(json, key);
    if (!card.ok()) continue;
    unjudged_.insert(card->number);
    hypotheses_.emplace(card->number, *std::move(card));
  }
}

int64_t HypothesisBoard::add(Hypothesis hypothesis) {
  for (auto& [number, other] : hypotheses_)
    if (other.base == hypothesis.base && near_duplicates(other.change, hypothesis.change)) return 0;
  hypothesis.number = hypotheses_.empty() ? 1 : hypotheses_.rbegin()->first + 1;
  keep(hypotheses_.emplace(hypothesis.number, hypothesis).first->second);
  return hypothesis.number;
}

Hypothesis* HypothesisBoard::find(int64_t number) {
  auto found = hypotheses_.find(number);
  return found == hypotheses_.end() ? nullptr : &found->second;
}

void HypothesisBoard::reopen_unjudged(const History& history) {
  for (auto& [number, hypothesis] : hypotheses_) {
    if (hypothesis.open() || !hypothesis.dropped.empty()) continue;
    auto key = Hash::from_hex(hypothesis.candidate);
    if (key && history.by_key(*key)) continue;
    hypothesis.asked = false, hypothesis.candidate.clear();
    keep(hypothesis);
  }
}

void HypothesisBoard::keep(const Hypothesis& hypothesis) const {
  char key[32];
  std::snprintf(key, sizeof key, "%s%08lld", kPrefix.data(), static_cast<long long>(hypothesis.number));
  std::erase_if(findings_, [&](auto& finding) { return finding.hypothesis.number == hypothesis.number; });
  unjudged_.insert(hypothesis.number);
  state_.put(key, to_json(hypothesis).dump(-1, ' ', false, Json::error_handler_t::replace));
}

const Hypothesis* HypothesisBoard::best_open(const History& history) const {
  if (open() == 0) return nullptr;
  const auto& known = findings(history);
  const Hypothesis* best = nullptr;
  double most = kWorthwhile;
  for (auto& [number, hypothesis] : hypotheses_) {
    if (!hypothesis.open() || !history.find(hypothesis.base)) continue;
    const double expected = expected_gain(hypothesis, hypotheses_, known);
    if (best ? expected > most : expected >= most) best = &hypothesis, most = expected;
  }
  return best;
}

double HypothesisBoard::expected(const Hypothesis& hypothesis, const History& history) const {
  return expected_gain(hypothesis, hypotheses_, findings(history));
}

size_t HypothesisBoard::open() const {
  return static_cast<size_t>(std::ranges::count_if(hypotheses_, [](auto& entry) { return entry.second.open(); }));
}

double HypothesisBoard::expected_of_open(const History& history) const {
  const auto& known = findings(history);
  double sum = 0;
  for (auto& [number, hypothesis] : hypotheses_)
    if (hypothesis.open()) sum += expected_gain(hypothesis, hypotheses_, known);
  return std::exp(sum);
}

const std::vector<Finding>& HypothesisBoard::findings(const History& history) const {
  auto number_of = [](const Finding& finding) { return finding.hypothesis.number; };
  for (auto number = unjudged_.begin(); number != unjudged_.end();) {
    auto finding = finding_of(hypotheses_.at(*number), history);
    number = finding ? unjudged_.erase(number) : std::next(number);
    if (finding) findings_.insert(std::ranges::upper_bound(findings_, number_of(*finding), {}, number_of), *finding);
  }
  return findings_;
}

std::vector<Finding> findings_of(const std::map<std::string, std::string>& state, const std::vector<RunTrial>& trials) {
  History history;
  for (auto& trial : trials) history.add(trial);
  return HypothesisBoard({state, {}}).findings(history);
}

}  // namespace kernelift::tuner
