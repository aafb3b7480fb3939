// The prompt for an idea: what is known of the kernel (prompt_facts.h), and what is asked of the model.
#pragma once
#include "tuner/source/evolution/population.h"
#include "tuner/source/hypotheses/hypothesis.h"
#include "tuner/source/llm/idea_log.h"
#include "tuner/source/llm/prompt_facts.h"

namespace kernelift::tuner {

struct IdeaTask {
  PromptKind kind = PromptKind::Optimise;
  const Hypothesis* card = nullptr;  ///< To be carried out; nullptr: none is.
  size_t cards = 4;                  ///< Hypotheses that are asked for.
  const Population& population;      ///< Of which texts to combine with are shown.
};

inline constexpr size_t kPartners = 2;  ///< Other texts that a prompt shows to be combined with.

/// What every request begins with.
Result<std::string> system_prompt(const std::filesystem::path& folder, const Mep& mep);

/// An Error names the template that cannot be read, or the field that it has and nothing is filled in for: before any
/// model is asked.
Status check_prompts(const std::filesystem::path& folder);

/// `characters`: of the facts together. An Error: a template cannot be read or filled.
Result<std::string> idea_prompt(const std::filesystem::path& folder, const PromptSubject& subject, const IdeaTask& task,
                                size_t characters);

/// "#7 (unroll by 4): 1.2x …", for a model.
std::string shown_trial(const RunTrial& trial);

}  // namespace kernelift::tuner
