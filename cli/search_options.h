// What the verbs that search have in common: the language model with its limits, the tolerance, rules that are left
// out.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/verb.h"
#include "tuner/source/llm/llm_proposer.h"

namespace kernelift::cli {

struct SearchOptions {
  std::vector<std::string> llm;  ///< Models; none: no model is asked.
  std::string llm_seconds = "1h";
  int64_t llm_calls = 40, llm_tokens = 2'000'000;
  std::string llm_prices;                  ///< File of a price table; empty: none.
  double llm_money = 0;                    ///< In its currency; 0: no limit.
  double tolerance = 0;                    ///< Relative; 0: derived from the original.
  std::vector<std::string> without_rules;  ///< By name.
  bool keep_precision = false;             ///< Nothing is tried that lowers the precision of results.
  std::string patterns;                    ///< The library's file, or "none"; empty: the user's.

  /// A usage Error if any of them cannot be read.
  Status check() const;
  /// Models, limits and templates; nullopt: no model is named.
  Result<std::optional<tuner::LlmOptions>> model() const;
  /// Tolerance and rules again, for another verb.
  std::vector<std::string> words() const;
  /// The model again, for one kernel: with this share of what is left of its limits when `spent` is (as a run's JSON
  /// document has it), beside what its run had before, which counts when a run is resumed. Empty: no model is named, or
  /// nothing is left.
  std::vector<std::string> model_words(const Json& spent, const Json& of_run, double share) const;
};

/// The document of a `tune` says what models have cost in its run, what it was resumed from included: adds to the sum
/// of several runs what is more than `of_run`, which becomes what it says.
void add_model_use(Json& sum, Json& of_run, const Json& tuned);

void add_search(CLI::App& app, SearchOptions& options);

}  // namespace kernelift::cli
