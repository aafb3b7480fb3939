// What models may cost in a run and have cost: requests, tokens, time, money. Kept in the run's database, so that the
// limits hold over all sittings.
#pragma once
#include <cstdint>
#include <string>

#include "tuner/source/kept_state.h"

namespace kernelift::tuner {

/// Over all sittings of a run.
struct ModelLimits {
  int64_t most_calls = 40;          ///< Requests, those for repairs and those after failures included.
  int64_t most_tokens = 2'000'000;  ///< Input and output tokens of all requests.
  double most_seconds = 3600;       ///< In which at least one call is waited for.
  double most_money = 0;            ///< In the price table's currency; 0: no limit.
};

struct ModelUse {
  int64_t calls = 0, tokens = 0;
  double seconds = 0, money = 0;
  std::string currency = {};  ///< Of `money`; empty: there are no prices.

  /// What is kept under kModelUseKey; what cannot be read is as if nothing had been used.
  static ModelUse read(const KeptState& state);
  void keep(const KeptState& state) const;
  /// Which limit is reached, as the end of a sentence that begins with "the model's budget of"; or empty.
  std::string exhausted(const ModelLimits& limits) const;
  /// "12 of 40 requests, 34000 of 2000000 tokens, 50 of 3600 s, 0.21 of 5.00 USD".
  std::string text(const ModelLimits& limits) const;
  /// "12 requests, 34k tokens, 0.21 USD".
  std::string brief() const;
};

inline constexpr const char* kModelUseKey = "llm";

}  // namespace kernelift::tuner
