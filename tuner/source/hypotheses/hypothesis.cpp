// See hypothesis.h. A card begins with a line CARD and has a line "NAME: value" for each field; models decorate both
// with the marks of Markdown, which are ignored.
#include "tuner/source/hypotheses/hypothesis.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>

#include "core/base/shown/outside_text.h"
#include "core/base/words.h"

namespace kernelift::tuner {
namespace {

constexpr size_t kLongestField = 300;
constexpr double kMostGain = 1000;  ///< A larger factor is no estimate.

using Fields = std::map<std::string, std::string>;
const char* const kNames[] = {"FAMILY", "BOUND", "CHANGE", "MOVES", "GAIN", "RISK", "COST"};

/// Without the marks of headings, lists, tables and emphasis around it.
std::string undecorated(std::string_view text) {
  constexpr std::string_view kMarks = " \t\r*_#>`-|";
  const size_t begin = text.find_first_not_of(kMarks);
  if (begin == text.npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r*_`|") + 1 - begin));
}

std::string small(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

bool opens_card(const std::string& line) {
  if (!line.starts_with("CARD")) return false;
  return line.find_first_not_of(" 0123456789:.#", 4) == line.npos;
}

std::vector<Fields> fields_of(const std::string& answer) {
  std::vector<Fields> cards;
  std::istringstream lines(answer);
  std::string last;
  for (std::string raw; std::getline(lines, raw);) {
    const std::string line = undecorated(raw);
    if (opens_card(line)) {
      cards.emplace_back(), last.clear();
      continue;
    }
    if (cards.empty()) continue;
    const size_t colon = line.find(':');
    const std::string head = colon == line.npos ? "" : undecorated(line.substr(0, colon));
    const bool known = std::ranges::any_of(kNames, [&](auto* name) { return head == name; });
    if (known) {
      last = head;
      cards.back()[head] = undecorated(line.substr(colon + 1));
    } else if (line.empty() || line == "END" || line.starts_with("```")) {
      last.clear();
    } else if (!last.empty()) {
      cards.back()[last] += " " + line;  // A field that goes on.
    }
  }
  return cards;
}

/// The number at the beginning of `text`, and what follows it.
std::optional<double> leading_number(const std::string& text, std::string* rest = nullptr) {
  std::string plain;
  for (char c : text)
    if (c != ',' && c != '~') plain += c;
  const std::string trimmed = without_outer_blanks(plain);
  char* end = nullptr;
  const double value = std::strtod(trimmed.c_str(), &end);
  if (end == trimmed.c_str() || !std::isfinite(value)) return std::nullopt;
  if (rest) *rest = end;
  return value;
}

/// "50 %" of a figure that is a share is 0.5: it is measured so, and told in per cent elsewhere.
std::optional<double> share_or_number(const std::string& text) {
  std::string rest;
  auto value = leading_number(text, &rest);
  if (value && without_outer_blanks(rest).starts_with('%')) *value /= 100;
  return value;
}

/// "registers 40 -> 32", "occupancy: 0.5 to 0.75", "code_bytes down".
void read_moves(const std::string& text, Hypothesis& card) {
  size_t end = 0;
  while (end < text.size() && (word_character(text[end]) || text[end] == '.')) ++end;
  card.figure = small(text.substr(0, end));
  if (card.figure == "none" || card.figure == "nothing") card.figure.clear();
  std::string rest = text.substr(end);
  for (const char* arrow : {"->", "→", " to ", "=>"}) {
    const size_t at = rest.find(arrow);
    if (at == rest.npos) continue;
    const std::string then = rest.substr(at + std::string_view(arrow).size());
    std::string now = rest.substr(0, at);
    std::ranges::replace(now, ':', ' ');
    card.before = share_or_number(now), card.after = share_or_number(then);
    return;
  }
}

/// "1.3", "1.3x", "30 %"; nullopt: neither.
std::optional<double> factor_of(const std::string& text) {
  std::string rest;
  auto value = leading_number(text, &rest);
  if (!value) return std::nullopt;
  return without_outer_blanks(rest).starts_with('%') ? 1 + *value / 100 : *value;
}

/// Empty, or why the card is none.
std::string read_card(const Fields& fields, Hypothesis& card) {
  auto field = [&](const char* name) {
    auto found = fields.find(name);
    return found == fields.end() ? std::string() : shown_line(found->second, kLongestField);
  };
  card.change = field("CHANGE"), card.bound = field("BOUND"), card.cost = field("COST");
  if (card.change.empty()) return "it has no CHANGE";
  const std::string family = small(field("FAMILY"));
  auto named = family_from_name(family);
  card.family = named.value_or(family_of_words(card.change));
  if (!family.empty() && !named)
    return "its FAMILY '" + family + "' is none of memory, parallelism, arithmetic, structure";
  const std::string gain = field("GAIN");
  auto factor = factor_of(gain);
  if (!factor) return gain.empty() ? "it has no GAIN" : "its GAIN '" + gain + "' is no factor such as 1.3";
  if (*factor <= 1 || *factor > kMostGain) return "its GAIN '" + gain + "' is no factor above 1 that can be expected";
  card.gain = *factor;
  const std::string risk = small(field("RISK"));
  card.risk = risk.starts_with("low")    ? Hypothesis::Risk::Low
              : risk.starts_with("high") ? Hypothesis::Risk::High
                                         : Hypothesis::Risk::Medium;
  read_moves(field("MOVES"), card);
  return {};
}

std::string figure_text(const Hypothesis& card) {
  if (card.figure.empty()) return {};
  auto number = [](std::optional<double> value) {
    char text[32] = "?";
    if (value) std::snprintf(text, sizeof text, "%.6g", *value);
    return std::string(text);
  };
  if (!card.before && !card.after) return card.figure;
  return card.figure + " " + number(card.before) + " -> " + number(card.after);
}

std::string factor_text(double factor) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2fx", factor);
  return text;
}

}  // namespace

const char* name(Hypothesis::Risk risk) {
  const char* const names[] = {"low", "medium", "high"};
  return names[static_cast<size_t>(risk)];
}

std::string Hypothesis::prediction() const {
  const std::string moves = figure_text(*this);
  return (moves.empty() ? "" : moves + "; ") + factor_text(gain) + "; risk " + tuner::name(risk);
}

std::string card_text(const Hypothesis& card) {
  const std::string moves = figure_text(card);
  return std::string("FAMILY: ") + name(card.family) + "\nBOUND: " + card.bound + "\nCHANGE: " + card.change +
         "\nMOVES: " + (moves.empty() ? "nothing that was named" : moves) + "\nGAIN: " + factor_text(card.gain) +
         "\nRISK: " + name(card.risk) + "\nCOST: " + card.cost + "\n";
}

Cards read_cards(const std::string& answer, size_t most) {
  Cards cards;
  const auto fields = fields_of(answer);
  std::string wrong;
  for (size_t at = 0; at < fields.size() && cards.hypotheses.size() < most; ++at) {
    Hypothesis card;
    const std::string why = read_card(fields[at], card);
    if (why.empty()) cards.hypotheses.push_back(std::move(card));
    else wrong += (wrong.empty() ? "card " : "; card ") + std::to_string(at + 1) + ": " + why;
  }
  if (!wrong.empty()) cards.complaint = wrong + ".";
  else if (fields.empty())
    cards.complaint =
        "The answer contains no card: no line that is CARD, with lines FAMILY, BOUND, CHANGE, MOVES, GAIN, "
        "RISK and COST below it.";
  return cards;
}

Json to_json(const Hypothesis& card) {
  Json json{{"number", card.number},       {"base", card.base},           {"model", card.model},
            {"family", name(card.family)}, {"bound", card.bound},         {"change", card.change},
            {"figure", card.figure},       {"gain", card.gain},           {"risk", name(card.risk)},
            {"cost", card.cost},           {"candidate", card.candidate}, {"asked", card.asked},
            {"dropped", card.dropped},     {"requests", card.requests},   {"tokens", card.tokens},
            {"seconds", card.seconds}};
  if (card.before) json["before"] = *card.before;
  if (card.after) json["after"] = *card.after;
  return json;
}

Result<Hypothesis> hypothesis_from_json(const Json& from, const std::string& where) {
  return reading(where, [&] {
    Hypothesis card;
    card.number = from.at("number"), card.base = from.at("base"), card.model = from.at("model");
    card.family = family_from_name(from.at("family").get<std::string>()).value_or(Family::Structure);
    card.bound = from.at("bound"), card.change = from.at("change"), card.figure = from.at("figure");
    card.gain = from.at("gain"), card.cost = from.at("cost"), card.candidate = from.at("candidate");
    const std::string risk = from.at("risk");
    for (auto known : {Hypothesis::Risk::Low, Hypothesis::Risk::Medium, Hypothesis::Risk::High})
      if (risk == name(known)) card.risk = known;
    card.asked = from.at("asked"), card.dropped = from.at("dropped"), card.requests = from.at("requests");
    card.tokens = from.at("tokens"), card.seconds = from.at("seconds");
    if (from.contains("before")) card.before = from.at("before").get<double>();
    if (from.contains("after")) card.after = from.at("after").get<double>();
    return card;
  });
}

}  // namespace kernelift::tuner
