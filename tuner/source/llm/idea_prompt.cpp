// See idea_prompt.h.
#include "tuner/source/llm/idea_prompt.h"

#include "tuner/rule_outcomes.h"
#include "tuner/source/hypotheses/finding.h"
#include "tuner/source/llm/prompt.h"

namespace kernelift::tuner {
namespace {

constexpr size_t kLongestPartner = 12'000;  ///< Bytes of another text that a prompt shows.

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string partners_of(const PromptSubject& subject, const Population& population) {
  std::string text;
  for (auto& partner : population.inspirations(Population::member_of(subject.base), kPartners)) {
    const RunTrial* trial = subject.history.find(partner.id);
    if (trial && trial->candidate.source.size() <= kLongestPartner)
      text += as_data(shown_trial(*trial) + "; " + partner.cell.text()) + as_data(trial->candidate.source);
  }
  return text;
}

Result<std::string> task_text(const std::filesystem::path& folder, const PromptSubject& subject, const IdeaTask& task) {
  if (task.card) return fill_prompt(folder, "task_write", {{"card", as_data(card_text(*task.card))}});
  switch (task.kind) {
    case PromptKind::Hypotheses:
      return fill_prompt(folder, "task_hypotheses",
                         {{"count", std::to_string(task.cards)}, {"figures", listed(figures_of(subject.base))}});
    case PromptKind::Combine:
      return fill_prompt(folder, "task_combine", {{"inspirations", partners_of(subject, task.population)}});
    case PromptKind::Optimise: break;
  }
  return fill_prompt(folder, "task_optimise", {});
}

/// The fields of each template (docs/models.md lists them).
const std::map<std::string, std::vector<const char*>> kFields = {
    {"system", {"language"}},
    {"optimise",
     {"kernel", "device", "launches", "parameters", "judging", "profile", "rules", "accesses", "attempts", "findings",
      "original", "parent", "facts", "own_launch", "source", "task"}},
    {"task_optimise", {}},
    {"task_combine", {"inspirations"}},
    {"task_hypotheses", {"count", "figures"}},
    {"task_write", {"card"}},
    {"start", {"kernel", "device", "launches", "parameters", "profile", "space", "source", "count"}},
    {"repair", {"complaint", "own_launch", "source"}},
    {"repair_hypotheses", {"complaint", "own_launch", "source"}},
};

/// Those without which a model cannot answer.
const std::map<std::string, std::vector<const char*>> kNeeded = {
    {"optimise", {"source", "task"}}, {"task_combine", {"inspirations"}},  {"task_write", {"card"}},
    {"start", {"space", "source"}},   {"repair", {"complaint", "source"}}, {"repair_hypotheses", {"complaint"}},
};

}  // namespace

Result<std::string> system_prompt(const std::filesystem::path& folder, const Mep& mep) {
  return fill_prompt(folder, "system", {{"language", mep.language == "hip" ? "HIP C++" : "CUDA C++"}});
}

Status check_prompts(const std::filesystem::path& folder) {
  for (auto& [name, fields] : kFields) {
    std::map<std::string, std::string> values;
    for (auto* field : fields) values[field] = "<" + std::string(field) + ">";
    KERNELIFT_ASSIGN(const std::string filled, fill_prompt(folder, name, values));
    const auto needed = kNeeded.find(name);
    if (needed == kNeeded.end()) continue;
    for (auto* field : needed->second)
      if (filled.find(values[field]) == filled.npos)
        return environment_error((folder / (name + ".txt")).string() + ": {{" + field +
                                 "}} is missing, without which a model cannot answer");
  }
  return done();
}

std::string shown_trial(const RunTrial& trial) {
  return "#" + std::to_string(trial.id) + " (" + trial.candidate.note() + "): " + told_on_one_line(trial.verdict);
}

Result<std::string> idea_prompt(const std::filesystem::path& folder, const PromptSubject& subject, const IdeaTask& task,
                                size_t characters) {
  auto values = prompt_facts(subject, characters);
  KERNELIFT_ASSIGN(values["task"], task_text(folder, subject, task));
  return fill_prompt(folder, "optimise", values);
}

}  // namespace kernelift::tuner
