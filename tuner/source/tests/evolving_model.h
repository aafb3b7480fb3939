// A language model in memory whose answers, and what they cost, are a function of the prompt alone; and verdicts that
// are a function of a candidate's text. Two runs of the same requests are the same, however long they take.
#pragma once
#include <algorithm>
#include <cmath>

#include "core/base/hash.h"
#include "tuner/source/llm/llm_proposer.h"
#include "tuner/tests/fakes/fake_evaluator.h"

namespace kernelift::tuner {

inline constexpr double kMostHelpful = 12;  ///< Changes of one text after which none helps any more.

class EvolvingModel : public LanguageModel {
 public:
  ModelReply ask(const ModelRequest& request, const CallLimits&, const std::atomic<bool>&) override {
    Hasher hasher;
    for (auto& message : request.messages) hasher.add(message.text);
    const uint64_t draw = hasher.finish().low;
    ChatAnswer answer;
    answer.input_tokens = 1000 + static_cast<int64_t>(draw % 500),
    answer.output_tokens = 50 + static_cast<int64_t>(draw % 70);
    if (request.kind == "hypotheses" && changes(request.messages.back().text) < kMostHelpful)
      answer.text = card(draw) + card(draw >> 16);
    else if (draw % 5 == 0 && request.kind != "repair") answer.text = "It could be made faster, I think.";
    else
      answer.text = "IDEA: number " + std::to_string(draw) +
                    "\n<<<<<<< SEARCH\nfloat* data, int n) {}\n=======\nfloat* data, int n) {}\n// " +
                    std::to_string(draw) + "\n>>>>>>> REPLACE\n";
    return {std::move(answer), 1, false, 1 + static_cast<double>(draw % 1000) / 500};
  }

 private:
  /// How often the text was changed.
  static double changes(const std::string& prompt) {
    double count = 0;
    for (size_t at = 0; (at = prompt.find("\n// ", at)) != prompt.npos; ++at) ++count;
    return count;
  }
  static std::string card(uint64_t draw) {
    const char* families[] = {"memory", "parallelism", "arithmetic", "structure"};
    std::string words;
    for (int word = 0; word < 6; ++word) words += " w" + std::to_string((draw >> (5 * word)) % 97);
    return std::string("CARD\nFAMILY: ") + families[draw % 4] + "\nBOUND: DRAM\nCHANGE: try" + words + "\nGAIN: 1." +
           std::to_string(1 + draw % 3) + "\nRISK: low\nCOST: 1 line\n";
  }
};

inline Verdict evolving_verdict(const Candidate& candidate) {
  if (candidate.tier == "baseline") return fake_ok(1);
  // A few changes help, more or less, so that about half of their hypotheses hold.
  const auto lines = static_cast<double>(std::ranges::count(candidate.source, '\n'));
  const double luck = static_cast<double>(hash_text(candidate.source).low % 1000) / 1000;
  return fake_ok(std::pow(1.1, std::min(lines - 3, kMostHelpful)) * (0.95 + 0.1 * luck));
}

/// Options of a proposer that asks it.
inline LlmOptions evolving_options(const std::filesystem::path& folder) {
  LlmOptions options;
  options.specs = {*ModelSpec::parse("command:one")};
  options.open = [](const ModelSpec&, const ChatLimits&) -> Result<std::unique_ptr<LanguageModel>> {
    return std::unique_ptr<LanguageModel>(std::make_unique<EvolvingModel>());
  };
  options.prompts = std::filesystem::path(KERNELIFT_SOURCE_DIR) / "tuner/source/prompts";
  options.transcripts = folder / "transcripts", options.findings = folder / "findings.md", options.run = "k-1.klrun";
  options.most_calls = options.most_tokens = 1'000'000'000, options.most_seconds = 1e9;
  return options;
}

}  // namespace kernelift::tuner
