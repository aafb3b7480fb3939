// See model_budget.h.
#include "tuner/source/llm/model_budget.h"

#include <cstdio>

#include "core/base/json_member.h"

namespace kernelift::tuner {
namespace {

constexpr double kShortestCall = 0.05;  ///< Seconds; no model answers sooner.
constexpr int64_t kThousand = 1000;

std::string money_text(double money) {
  char text[32];
  // A call of a small model costs hundredths of a cent.
  std::snprintf(text, sizeof text, money > 0 && money < 1 ? "%.4f" : "%.2f", money);
  return text;
}

}  // namespace

ModelUse ModelUse::read(const KeptState& state) {
  ModelUse use;
  auto known = state.known.find(kModelUseKey);
  const Json spent = known == state.known.end() ? Json() : Json::parse(known->second, nullptr, false);
  if (!spent.is_object()) return use;
  // Repairs were counted apart once.
  use.calls = whole_member<int64_t>(spent, "calls").value_or(0) + whole_member<int64_t>(spent, "repairs").value_or(0);
  use.tokens = whole_member<int64_t>(spent, "tokens").value_or(0);
  use.seconds = number_member(spent, "seconds"), use.money = number_member(spent, "money");
  use.currency = text_member(spent, "currency");
  return use;
}

void ModelUse::keep(const KeptState& state) const {
  Json json = {{"calls", calls}, {"tokens", tokens}, {"seconds", seconds}};
  if (!currency.empty()) json["money"] = money, json["currency"] = currency;
  state.put(kModelUseKey, compact(json));
}

std::string ModelUse::exhausted(const ModelLimits& limits) const {
  if (limits.most_money > 0 && money >= limits.most_money) return "money is spent (--llm-money)";
  if (tokens >= limits.most_tokens) return "tokens is spent (--llm-tokens)";
  if (limits.most_seconds - seconds < kShortestCall) return "waiting time is spent (--llm-seconds)";
  return calls >= limits.most_calls ? "calls is spent (--llm-calls)" : "";
}

std::string ModelUse::text(const ModelLimits& limits) const {
  char waited[64];
  std::snprintf(waited, sizeof waited, "%.0f of %.0f s", seconds, limits.most_seconds);
  std::string text = std::to_string(calls) + " of " + std::to_string(limits.most_calls) + " requests, " +
                     std::to_string(tokens) + " of " + std::to_string(limits.most_tokens) + " tokens, " + waited;
  if (currency.empty()) return text;
  return text + ", " + money_text(money) + (limits.most_money > 0 ? " of " + money_text(limits.most_money) : "") + " " +
         currency;
}

std::string ModelUse::brief() const {
  return std::to_string(calls) + " requests, " +
         (tokens < kThousand ? std::to_string(tokens) : std::to_string(tokens / kThousand) + "k") + " tokens" +
         (currency.empty() ? "" : ", " + money_text(money) + " " + currency);
}

}  // namespace kernelift::tuner
