// See search_options.h.
#include "cli/search_options.h"

#include <algorithm>
#include <cmath>

#include "cli/duration.h"
#include "core/base/file.h"
#include "core/base/json_member.h"
#include "tuner/tiers.h"

namespace kernelift::cli {

Status SearchOptions::check() const {
  KERNELIFT_TRY(tuner::check_rules(without_rules));
  KERNELIFT_ASSIGN([[maybe_unused]] auto named, model());
  return done();
}

Result<std::optional<tuner::LlmOptions>> SearchOptions::model() const {
  KERNELIFT_ASSIGN(double seconds, parse_duration(llm_seconds));
  if (llm.empty()) return std::optional<tuner::LlmOptions>();
  tuner::LlmOptions made;
  for (auto& model : llm) {
    KERNELIFT_ASSIGN(auto spec, tuner::ModelSpec::parse(model));
    made.specs.push_back(std::move(spec));
  }
  made.prompts = executable_folder().parent_path() / "lib" / "kernelift" / "prompts";
  made.most_calls = llm_calls, made.most_tokens = llm_tokens, made.most_seconds = seconds;
  made.tolerance = tolerance, made.most_money = llm_money;
  if (llm_prices.empty() && llm_money > 0)
    return usage_error("--llm-money needs the models' prices: --llm-prices FILE (docs/models.md describes it)");
  if (!llm_prices.empty()) {
    KERNELIFT_ASSIGN(made.prices, tuner::PriceTable::read(llm_prices));
    for (auto& spec : made.specs) KERNELIFT_TRY(made.prices->price(spec));
  }
  return std::optional(std::move(made));
}

std::vector<std::string> SearchOptions::words() const {
  std::vector<std::string> words;
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", tolerance);
  if (tolerance > 0) words.insert(words.end(), {"--tolerance", text});
  for (auto& rule : without_rules) words.insert(words.end(), {"--without-rule", rule});
  if (keep_precision) words.emplace_back("--keep-precision");
  if (!patterns.empty()) words.insert(words.end(), {"--patterns", patterns});
  return words;
}

std::vector<std::string> SearchOptions::model_words(const Json& spent, const Json& of_run, double share) const {
  const int64_t calls = llm_calls - whole_member<int64_t>(spent, "calls").value_or(0),
                tokens = llm_tokens - whole_member<int64_t>(spent, "tokens").value_or(0);
  auto most = parse_duration(llm_seconds);
  const auto seconds = static_cast<int64_t>(most.ok() ? *most - number_member(spent, "seconds") : 0);
  const double money = llm_money - number_member(spent, "money");
  if (llm.empty() || calls <= 0 || tokens <= 0 || seconds <= 0 || (llm_money > 0 && money <= 0)) return {};
  auto part = [&](int64_t left, const char* what) {
    return std::to_string(whole_member<int64_t>(of_run, what).value_or(0) +
                          std::max<int64_t>(1, std::llround(share * static_cast<double>(left))));
  };
  std::vector<std::string> words{"--llm-calls",          part(calls, "calls"), "--llm-tokens",
                                 part(tokens, "tokens"), "--llm-seconds",      part(seconds, "seconds")};
  if (!llm_prices.empty()) words.insert(words.end(), {"--llm-prices", llm_prices});
  if (llm_money > 0) {
    char part_of_money[32];  // Small prices have more digits than std::to_string() gives.
    std::snprintf(part_of_money, sizeof part_of_money, "%.17g", number_member(of_run, "money") + share * money);
    words.insert(words.end(), {"--llm-money", part_of_money});
  }
  for (auto& model : llm) words.insert(words.end(), {"--llm", model});
  return words;
}

void add_model_use(Json& sum, Json& of_run, const Json& tuned) {
  auto model = tuned.find("model");
  if (model == tuned.end() || !model->is_object()) return;
  for (auto* what : {"calls", "tokens", "seconds"})
    sum[what] =
        static_cast<int64_t>(number_member(sum, what) + number_member(*model, what) - number_member(of_run, what));
  if (std::string currency = text_member(*model, "currency"); !currency.empty()) {
    sum["money"] = number_member(sum, "money") + number_member(*model, "money") - number_member(of_run, "money");
    sum["currency"] = currency;
  }
  of_run = *model;
}

void add_search(CLI::App& app, SearchOptions& options) {
  auto* model =
      app.add_option(
             "--llm", options.llm,
             "Language model for the source tier, and for configurations that the parameter tier begins with: "
             "openai:URL,MODEL, responses:URL,MODEL or anthropic:URL,MODEL (an empty URL is the "
             "vendor's own; the key is read from OPENAI_API_KEY or ANTHROPIC_API_KEY, or from the file that "
             "OPENAI_API_KEY_FILE or ANTHROPIC_API_KEY_FILE names), command:PROGRAM (prompt on "
             "stdin, answer on stdout), exchange:FOLDER (prompts are written there, answers read), transcript:FILE "
             "(recorded answers). May be given several times: the models that gain most for what they cost are "
             "asked most")
          ->allow_extra_args(false);
  app.add_option("--llm-calls", options.llm_calls,
                 "Maximum number of requests to the model, repairs and repetitions included")
      ->capture_default_str()
      ->check(CLI::PositiveNumber)
      ->needs(model);
  app.add_option("--llm-tokens", options.llm_tokens, "Maximum number of tokens, input and output")
      ->capture_default_str()
      ->check(CLI::PositiveNumber)
      ->needs(model);
  app.add_option("--llm-seconds", options.llm_seconds, "Maximum time in which the model is waited for: 90, 10m, 1h")
      ->capture_default_str()
      ->needs(model);
  app.add_option("--llm-prices", options.llm_prices,
                 "JSON file with the models' prices (docs/models.md): what they cost is shown")
      ->needs(model);
  app.add_option("--llm-money", options.llm_money, "Maximum cost of the models, in the price table's currency")
      ->check(CLI::PositiveNumber)
      ->needs(model);
  app.add_option("--tolerance", options.tolerance,
                 "Largest relative error accepted in floating-point buffers (default: derived from the original)")
      ->check(CLI::PositiveNumber);
  app.add_option("--without-rule", options.without_rules,
                 "Names of rewrite rules that are not tried, separated by commas; all: none is")
      ->delimiter(',');
  app.add_flag("--keep-precision", options.keep_precision,
               "Try nothing that lowers the precision of results by itself: neither fast math nor narrower types");
  app.add_option("--patterns", options.patterns,
                 "Library of what helped kernels of other applications: tried first, and added to; none: no library "
                 "(default: patterns.json in $XDG_DATA_HOME/kernelift, and what Kernelift comes with)");
}

}  // namespace kernelift::cli
