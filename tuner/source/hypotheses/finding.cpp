// See finding.h.
#include "tuner/source/hypotheses/finding.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <set>

#include "core/base/shown/outside_text.h"
#include "core/base/words.h"
#include "tuner/source/evolution/archive_cell.h"

namespace kernelift::tuner {
namespace {

constexpr double kEnough = 0.5;  ///< Share of the predicted gain, and of the predicted move, that confirms.
constexpr size_t kShownWhy = 240;
constexpr double kAlike = 0.6;        ///< Share of common words from which on two changes are the same.
constexpr double kNextToTried = 0.7;  ///< For each card of the same family about the same figure that was tried.
constexpr const char* kFigures[] = {"registers", "shared_bytes", "local_bytes", "threads",
                                    "occupancy", "spill_bytes",  "code_bytes",  "vector"};

std::string number(double value, const char* format = "%.6g") {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

/// How the figure moved against what was predicted; nullopt: it is not measured here.
std::optional<bool> moved(const Hypothesis& card, const RunTrial& base, const RunTrial& trial) {
  auto from = figure_of(base, card.figure), to = figure_of(trial, card.figure);
  if (!from || !to || !card.after) return std::nullopt;
  const double wanted = *card.after - card.before.value_or(*from), got = *to - *from;
  if (wanted == 0) return got == 0;
  return got / wanted >= kEnough;
}

std::set<std::string> words_of(const std::string& text) {
  std::set<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = end_of_word(text, at);
    if (end - at > 2) {
      std::string word = text.substr(at, end - at);
      std::ranges::transform(word, word.begin(), [](unsigned char c) { return std::tolower(c); });
      words.insert(std::move(word));
    }
    at = std::max(end, at + 1);
  }
  return words;
}

void judge(Finding& finding, const RunTrial& base, const RunTrial& trial) {
  const Hypothesis& card = finding.hypothesis;
  const double of_base = base.verdict.speedup();
  // Both were measured against the original, each with an error of its own.
  const double low = trial.verdict.speedup_low() / std::max(of_base, base.verdict.speedup_high()),
               high = trial.verdict.speedup_high() / std::max(1e-6, std::min(of_base, base.verdict.speedup_low()));
  finding.speedup = trial.verdict.speedup() / of_base;
  auto from = figure_of(base, card.figure), to = figure_of(trial, card.figure);
  if (from && to) finding.measured = card.figure + " " + number(*from) + " -> " + number(*to) + "; ";
  finding.measured +=
      number(finding.speedup, "%.2fx") + " (" + number(low, "%.2fx") + " to " + number(high, "%.2fx") + ")";
  const bool gained = low > kSmallestGain && std::log(finding.speedup) >= kEnough * std::log(card.gain);
  const bool none = high <= kSmallestGain || std::log(high) < kEnough * std::log(card.gain);
  const auto move = moved(card, base, trial);
  if (gained && !move.value_or(true)) {
    finding.why = "the gain came, but not by what was to cause it: " + card.figure + " did not move as predicted";
  } else if (gained) {
    finding.conclusion = Finding::Conclusion::Confirmed;
    finding.why = move ? card.figure + " moved as predicted, and the gain came"
                  : card.figure.empty()
                      ? "the gain came; no figure was predicted"
                      : "the gain came; " + card.figure + " is not measured here, or has no prediction";
  } else if (none) {
    finding.conclusion = Finding::Conclusion::Refuted;
    finding.why = !move   ? "the gain did not come"
                  : *move ? card.figure + " moved as predicted, and it did not pay"
                          : "neither did " + card.figure + " move as predicted, nor did the gain come";
  } else {
    finding.why = "the noise is too large to tell";
  }
}

}  // namespace

const char* name(Finding::Conclusion conclusion) {
  const char* const names[] = {"confirmed", "refuted", "confounded"};
  return names[static_cast<size_t>(conclusion)];
}

Json to_json(const Finding& finding) {
  const Hypothesis& card = finding.hypothesis;
  return {{"number", card.number},        {"model", card.model},
          {"family", name(card.family)},  {"change", card.change},
          {"bound", card.bound},          {"base", card.base},
          {"candidate", finding.trial},   {"predicted", card.prediction()},
          {"measured", finding.measured}, {"conclusion", name(finding.conclusion)},
          {"why", finding.why},           {"speedup", finding.speedup},
          {"requests", card.requests},    {"tokens", card.tokens},
          {"seconds", card.seconds},      {"cost_per_gain", finding.cost_per_gain()}};
}

std::string Finding::cost_text() const {
  return counted(static_cast<size_t>(hypothesis.requests), "request") + ", " + std::to_string(hypothesis.tokens) +
         " tokens, " + number(hypothesis.seconds, "%.0f s");
}

std::string Finding::cost_per_gain() const {
  if (speedup <= kSmallestGain) return {};
  const double tenths = std::log(speedup) / std::log(1.1);
  return number(static_cast<double>(hypothesis.tokens) / tenths, "%.0f tokens and ") +
         number(hypothesis.seconds / tenths, "%.1f s for each 10 %%");
}

std::string Finding::text() const {
  return "hypothesis " + std::to_string(hypothesis.number) + " " + name(conclusion) + ": " + hypothesis.change +
         ": predicted " + hypothesis.prediction() + (measured.empty() ? "" : ", measured " + measured) + ": " + why;
}

std::optional<double> figure_of(const RunTrial& trial, const std::string& figure) {
  const Verdict& verdict = trial.verdict;
  auto of = [](const auto& value) { return value ? std::optional(static_cast<double>(*value)) : std::nullopt; };
  if (figure == "registers") return of(verdict.resources.registers);
  if (figure == "shared_bytes") return of(verdict.resources.shared_bytes);
  if (figure == "local_bytes") return of(verdict.resources.local_bytes);
  if (figure == "threads") return of(verdict.resources.threads);
  if (figure == "occupancy") return of(verdict.resources.occupancy);
  if (figure == "spill_bytes") return of(verdict.image.spill_bytes);
  if (figure == "code_bytes") return of(verdict.image.code_bytes);
  if (figure == "vector") return cell_of(trial.candidate, verdict).vector;
  return std::nullopt;
}

std::vector<std::string> figures_of(const RunTrial& trial) {
  std::vector<std::string> names;
  for (auto* figure : kFigures)
    if (figure_of(trial, figure)) names.emplace_back(figure);
  return names;
}

std::optional<Finding> finding_of(const Hypothesis& hypothesis, const History& history) {
  if (hypothesis.open()) return std::nullopt;
  Finding finding;
  finding.hypothesis = hypothesis;
  auto key = Hash::from_hex(hypothesis.candidate);
  const RunTrial* trial = key ? history.by_key(*key) : nullptr;
  const RunTrial* base = history.find(hypothesis.base);
  if (!trial && hypothesis.dropped.empty()) return std::nullopt;
  if (history.baseline()) finding.device = history.baseline()->verdict.device;
  if (trial) finding.trial = trial->id;
  if (trial && trial->verdict.ok() && base && base->verdict.ok()) {
    judge(finding, *base, *trial);
    return finding;
  }
  finding.why =
      trial ? "its candidate is no kernel that can be timed: " + shown_line(trial->verdict.as_told().text(), kShownWhy)
            : "no candidate came of it: " + shown_line(hypothesis.dropped, kShownWhy);
  return finding;
}

bool near_duplicates(const std::string& one, const std::string& other) {
  const auto left = words_of(one), right = words_of(other);
  if (left.empty() || right.empty()) return one == other;
  const auto common = std::ranges::count_if(left, [&](auto& word) { return right.contains(word); });
  return static_cast<double>(common) >=
         kAlike * static_cast<double>(left.size() + right.size() - static_cast<size_t>(common));
}

double expected_gain(const Hypothesis& hypothesis, const std::map<int64_t, Hypothesis>& all,
                     const std::vector<Finding>& findings) {
  const double chances[] = {0.6, 0.4, 0.2};  // By risk.
  double held = 2, judged = 2;               // Two cards that held, before any was judged.
  for (auto& finding : findings) {
    if (finding.hypothesis.family != hypothesis.family) continue;
    ++judged, held += finding.conclusion == Finding::Conclusion::Confirmed;
  }
  double untried = 1;
  for (auto& [number, other] : all) {
    if (number == hypothesis.number || other.open()) continue;
    if (other.family == hypothesis.family && other.figure == hypothesis.figure) untried *= kNextToTried;
  }
  return std::log(hypothesis.gain) * chances[static_cast<size_t>(hypothesis.risk)] * (held / judged) *
         (0.3 + 0.7 * untried);
}

}  // namespace kernelift::tuner
