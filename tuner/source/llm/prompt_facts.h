// What a prompt for an idea says of kernel, device, launches, arguments and earlier attempts. Each fact has a worth; if
// all of them are longer than the prompt may be, those of the least worth are left out, wherever they stand.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "core/model/mep.h"
#include "tuner/history.h"
#include "tuner/rule_outcomes.h"

namespace kernelift::tuner {

struct PromptSubject {
  const Mep& mep;
  const History& history;
  const RunTrial& base;                    ///< Whose text the edits apply to.
  std::string profile;                     ///< How the original spends its time; empty: not known.
  double tolerance = 0;                    ///< Relative, as the user gave it; 0: derived from the original.
  std::vector<std::string> unusable;       ///< Answers of which no candidate came: a line each, the latest last.
  std::vector<std::string> findings = {};  ///< A line each, the most relevant first.
  std::vector<std::string> inputs = {};  ///< What each parameter's recorded memory holds (core/model/recorded_facts.h).
  std::vector<std::string> accesses = {};  ///< A line each (core/model/kernel/access_pattern.h).
  std::vector<RuleOffer> offers = {};      ///< What rules could change in the original.
  std::string limits = {};                 ///< Of the device (Evaluator::device_limits); empty: not known.
};

/// The values of the template's placeholders. `characters`: of all facts together; the base's text always is there.
std::map<std::string, std::string> prompt_facts(const PromptSubject& subject, size_t characters);

/// How the candidate's text is launched: its expressions, and what they come to at each recorded launch.
std::string launch_of(const Candidate& candidate, const Mep& mep);

}  // namespace kernelift::tuner
