// See rule_proposer.h.
#include "tuner/source/rule_proposer.h"

#include <clang/AST/Decl.h>

#include <algorithm>
#include <cmath>
#include <ranges>

#include "tuner/source/rules/for_loops.h"

namespace kernelift::tuner {
namespace {

/// Sources that edits are applied to, besides the original and the best one that each rule made.
constexpr size_t kParents = 3;
constexpr size_t kMoreParents = 16;     ///< The same, once these have no untried ideas left.
constexpr size_t kOfRules = 64;         ///< Best sources among which those of the rules are looked for.
constexpr double kDepthPenalty = 0.01;  ///< Per rank of the parent among the best.
/// Shares of a parent's distance from the best, in log speed, that count against its ideas: what one of them gains has
/// to make up for the distance first. Of a rule that was not tried nobody knows what it gains, and the original's ideas
/// must not be lost.
constexpr double kBehind = 0.5, kLittleBehind = 0.1;
constexpr size_t kPromotions = 4;  ///< Sums of one kernel that are promoted at once.
constexpr double kSuits = 2;       ///< Factor of the expected gain for rules that help the kernel's bound.

/// Whether one of them says the same.
bool holds(const std::vector<Opportunity>& all, const Opportunity& wanted) {
  return std::ranges::any_of(all, [&](auto& one) {
    return one.place == wanted.place && one.values == wanted.values && one.summary == wanted.summary;
  });
}

/// The last rule that changed its text; empty: none did.
std::string last_rule(const Candidate& candidate) {
  for (auto step = candidate.steps.rbegin(); step != candidate.steps.rend(); ++step)
    if (step->origin == Step::Origin::Rule) return step->rule;
  return {};
}

}  // namespace

std::optional<Candidate> apply(const Candidate& candidate, const Rule& rule, const Opportunity& opportunity,
                               const std::string& kernel) {
  auto text = apply_edits(candidate.source, opportunity.edits);
  if (!text || *text == candidate.source) return std::nullopt;
  Candidate changed = candidate;
  changed.source = std::move(*text);
  changed.tier = "source", changed.proposer = std::string("rules/") + rule.name;
  changed.reset_recipe();
  changed.add_step({.origin = Step::Origin::Rule,
                    .rule = rule.name,
                    .place = opportunity.place,
                    .parameters = opportunity.values,
                    .summary = opportunity.summary,
                    .premises = opportunity.premises,
                    .effects = opportunity.effects});
  if (opportunity.launch.empty()) return changed;
  if (changed.launches.empty()) changed.launches.push_back(CandidateLaunch::as_recorded(kernel));
  for (auto& launch : changed.launches) {
    std::map<std::string, Expression> now;
    for (int axis = 0; axis < 3; ++axis)
      now.emplace(kGridVariables[axis], launch.grid[axis]), now.emplace(kBlockVariables[axis], launch.block[axis]);
    for (int axis = 0; axis < 3; ++axis) {
      auto change = [&](const char* size, Expression& expression) {
        auto wanted = opportunity.launch.find(size);
        if (wanted != opportunity.launch.end()) expression = wanted->second.substitute(now);
      };
      change(kGridVariables[axis], launch.grid[axis]);
      change(kBlockVariables[axis], launch.block[axis]);
    }
  }
  return changed;
}

RuleProposer::RuleProposer(RuleContext facts, std::vector<std::string> clang_arguments,
                           std::vector<std::string> without)
    : facts_(std::move(facts)), arguments_(std::move(clang_arguments)), without_(std::move(without)) {}

double RuleProposer::promise(const Rule* rule) const {
  auto found = records_.find(rule);
  bool suits = std::find(rule->helps.begin(), rule->helps.end(), facts_.bound) != rule->helps.end();
  double curiosity = suits ? kSuits * rule->gain : rule->gain;
  if (found == records_.end()) return curiosity;
  return (curiosity + found->second.gained) / (1 + found->second.tried);
}

Result<KernelSource> RuleProposer::parse(const std::string& text, KernelSource::Templates templates) const {
  KERNELIFT_ASSIGN(KernelSource source, KernelSource::parse(text, arguments_, templates));
  if (foreign_) source.leave_out(*foreign_);
  return source;
}

std::optional<KernelSource> RuleProposer::as_instance(const KernelSource& spelled) const {
  if (!spelled.has_templates()) return std::nullopt;
  auto source = parse(spelled.text(), KernelSource::Templates::AsInstances);
  return source.ok() ? std::optional(std::move(*source)) : std::nullopt;
}

void RuleProposer::find_foreign(const std::string& original) {
  foreign_.emplace();
  if (facts_.own_lines.empty()) return;
  auto source = KernelSource::parse(original, arguments_);
  if (!source.ok()) return;  // Then nothing is proposed.
  std::set<std::string> own;
  for (auto* function : source->functions()) {
    auto at = source->offset(function->getLocation());
    if (!at) continue;  // Its name is a macro's.
    const auto line = std::count(original.begin(), original.begin() + static_cast<std::ptrdiff_t>(*at), '\n');
    (facts_.own_lines.contains(static_cast<size_t>(line)) ? own : *foreign_).insert(source->name(function));
  }
  // Of functions with one name any may be meant.
  for (auto& name : own) foreign_->erase(name);
}

bool RuleProposer::is_asked(const Rule& rule) const { return std::ranges::find(without_, rule.name) == without_.end(); }

std::optional<RuleProposer::Promoted> RuleProposer::promoted(const KernelSource& source,
                                                             const RuleContext& facts) const {
  if (!is_asked(kScalarPromotion)) return std::nullopt;
  auto promotions = std::make_shared<std::vector<Opportunity>>();
  std::optional<KernelSource> last;
  while (promotions->size() < kPromotions) {
    const KernelSource& before = last ? *last : source;
    auto offered = opportunities(kScalarPromotion, before, facts);
    if (offered.empty()) break;
    auto text = apply_edits(before.text(), offered.front().edits);
    if (!text) break;
    auto after = parse(*text);
    if (!after.ok()) break;
    promotions->push_back(std::move(offered.front()));
    last.emplace(std::move(*after));
  }
  if (!last) return std::nullopt;
  return Promoted{std::move(*last), std::move(promotions)};
}

std::deque<RuleProposer::Idea>& RuleProposer::ideas_of(const RunTrial& trial) {
  RuleContext facts = facts_.launched_as(trial.candidate);
  std::string blocks;
  for (auto& geometry : facts.geometries) blocks += geometry.block.text();
  Ideas& ideas = ideas_[trial.candidate.source];
  const bool known = !ideas.untried.empty();
  auto [place, fresh] = ideas.untried.try_emplace(blocks);
  std::deque<Idea>& found = place->second;
  if (!fresh) return found;
  auto source = parse(trial.candidate.source);
  if (!source.ok()) {
    if (!known)
      notes_.push_back("rules cannot work on #" + std::to_string(trial.id) + ": " +
                       source.error().message.substr(0, 200));
    return found;
  }
  if (trial.candidate.tier == "baseline")
    facts.declined = [&](const Rule& rule, const std::string& sentence) {
      declined_.insert(std::string(rule.name) + " of " + sentence);
    };
  auto add = [&](const Rule* rule, Opportunity opportunity, std::shared_ptr<const std::string> text,
                 std::shared_ptr<const std::vector<Opportunity>> promotions = nullptr) {
    std::string name = std::string(rule->name) + "\n" + opportunity.place + "\n" + opportunity.summary;
    for (auto& [parameter, value] : opportunity.values) name += "\n" + parameter + " " + std::to_string(value);
    for (auto& effect : opportunity.effects) name += "\n" + effect;
    if (!ideas.tried.contains(name))
      found.push_back({rule, std::move(opportunity), std::move(name), std::move(text), std::move(promotions)});
  };
  const auto usual = UsualForm::of(*source, facts.kernel, [&](auto& text) { return parse(text); });
  const auto text = usual ? std::make_shared<const std::string>(usual->source.text()) : nullptr;
  RuleContext quiet = facts;
  quiet.declined = nullptr;
  const auto promoted = this->promoted(*source, quiet);
  const auto instance = as_instance(*source);
  for (auto* rule : all_rules()) {
    if (!is_asked(*rule)) continue;
    const auto offered = opportunities(*rule, *source, facts);
    for (auto& opportunity : offered) add(rule, opportunity, nullptr);
    auto further = usual ? usual->further(*rule, facts, offered) : std::vector<Opportunity>();
    // A promotion alone gains little, so that what it makes possible would rarely have its turn as a rewrite of it.
    if (promoted && offered.empty() && further.empty())
      for (auto& opportunity : opportunities(*rule, promoted->source, quiet))
        add(rule, std::move(opportunity), nullptr, promoted->promotions);
    for (auto& opportunity : further) add(rule, std::move(opportunity), text);
    if (!instance || !rule->any_type) continue;
    for (auto& opportunity : opportunities(*rule, *instance, quiet))
      if (!holds(offered, opportunity)) add(rule, std::move(opportunity), nullptr);
  }
  return found;
}

std::optional<RuleProposer::Choice> RuleProposer::choose(const History& history) {
  if (!foreign_ && history.baseline()) find_foreign(history.baseline()->candidate.source);
  const RunTrial* original = history.baseline();
  std::vector<const RunTrial*> parents;
  auto add = [&](const RunTrial* trial) {
    if (trial && std::ranges::find(parents, trial) == parents.end()) parents.push_back(trial);
  };
  std::ranges::for_each(history.best_sources(kParents), add);  // One of them is a model's, if one of these gains.
  // A rewrite that gains, but less than others, may be what lets another rule apply.
  std::set<std::string> rules;
  const auto many = history.best_sources(kOfRules);
  for (auto* trial : many)
    if (auto rule = last_rule(trial->candidate); trial->verdict.gains() && !rule.empty() && rules.insert(rule).second)
      add(trial);
  // The original always takes part, so that its own ideas are not lost behind those of its descendants.
  std::erase(parents, original), add(original);
  const size_t always = parents.size();
  std::ranges::for_each(many | std::views::take(kMoreParents), add);
  double fastest = 0;
  for (auto* parent : parents) fastest = std::max(fastest, parent->verdict.speedup());
  std::optional<Choice> most;
  for (size_t rank = 0; rank < parents.size() && (rank < always || !most); ++rank) {
    auto& ideas = ideas_of(*parents[rank]);
    const double behind = std::log(fastest / std::max(parents[rank]->verdict.speedup(), 1e-9));
    const double depth = kDepthPenalty * static_cast<double>(std::min(rank, kParents));
    for (auto idea = ideas.begin(); idea != ideas.end(); ++idea) {
      const bool known = records_.contains(idea->rule) && parents[rank] != original;
      const double value = promise(idea->rule) - (known ? kBehind : kLittleBehind) * behind - depth;
      if (!most || value > most->promise) most = {parents[rank], &ideas, idea, value};
    }
  }
  return most;
}

std::optional<double> RuleProposer::expected_gain(const History& history) {
  auto choice = choose(history);
  return choice ? std::optional(choice->promise) : std::nullopt;
}

std::vector<Proposal> RuleProposer::propose(const History& history, size_t count) {
  std::vector<Proposal> proposals;
  while (proposals.size() < count) {
    auto choice = choose(history);
    if (!choice) break;
    const RunTrial* parent = choice->parent;
    Idea idea = std::move(*choice->idea);
    choice->ideas->erase(choice->idea);
    Ideas& ideas = ideas_.at(parent->candidate.source);
    for (auto& [blocks, others] : ideas.untried)
      std::erase_if(others, [&](auto& other) { return other.name == idea.name; });
    ideas.tried.insert(idea.name);
    // Applied only now, so that it gets the launches of the fastest candidate with this text.
    Candidate base = parent->candidate;
    if (idea.text) base.source = *idea.text;
    std::optional<Candidate> candidate = std::move(base);
    for (size_t i = 0; candidate && idea.promotions && i < idea.promotions->size(); ++i)
      candidate = apply(*candidate, kScalarPromotion, idea.promotions->at(i), facts_.kernel);
    if (candidate) candidate = apply(*candidate, *idea.rule, idea.opportunity, facts_.kernel);
    if (!candidate) continue;
    ++records_[idea.rule].tried;  // Also while in flight, so that a batch spreads over rules.
    // With a block of another size there is no form that keeps the grid.
    auto& launch = idea.opportunity.launch;
    const bool shrinks = !launch.contains(kBlockVariables[0]) && std::ranges::any_of(launch, [](auto& size) {
      return size.second.contains(Expression::Op::CeilDiv);
    });
    asked_.emplace(candidate->key(), Asked{idea.rule, parent->verdict.speedup(), shrinks});
    proposals.push_back({std::move(*candidate), {parent->id}});
  }
  return proposals;
}

std::optional<Candidate> RuleProposer::repeat(const Candidate& base, const Step& step) {
  if (step.origin != Step::Origin::Rule) return std::nullopt;
  const Rule* rule = find_rule(step.rule);
  if (!rule) return std::nullopt;
  if (!foreign_ && base.steps.empty()) find_foreign(base.source);
  RuleContext facts = facts_.launched_as(base);
  auto made_in = [&](const KernelSource& source) -> std::optional<Candidate> {
    // The forms that keep the grid are among the opportunities only if they are asked for.
    for (bool keep_grid : {facts_.keep_grid, !facts_.keep_grid}) {
      facts.keep_grid = keep_grid;
      for (auto& opportunity : opportunities(*rule, source, facts)) {
        if (opportunity.place != step.place || opportunity.values != step.parameters ||
            opportunity.summary != step.summary)
          continue;
        Candidate parent = base;
        parent.source = source.text();
        return apply(parent, *rule, opportunity, facts.kernel);
      }
    }
    return std::nullopt;
  };
  auto source = parse(base.source);
  if (!source.ok()) return std::nullopt;
  if (auto made = made_in(*source)) return made;
  if (auto instance = rule->any_type ? as_instance(*source) : std::nullopt)
    if (auto made = made_in(*instance)) return made;
  const auto usual = UsualForm::of(*source, facts.kernel, [&](auto& text) { return parse(text); });
  return usual ? made_in(usual->source) : std::nullopt;
}

std::vector<RuleOffer> RuleProposer::offers(const Candidate& original) {
  RunTrial trial;
  trial.candidate = original, trial.candidate.tier = "baseline";
  if (!foreign_) find_foreign(original.source);
  std::vector<std::pair<const Rule*, RuleOffer>> found;
  for (auto& idea : ideas_of(trial)) {
    auto known = std::ranges::find(found, idea.rule, [](auto& one) { return one.first; });
    if (known == found.end()) known = found.insert(found.end(), {idea.rule, {idea.rule->name, {}, 0}});
    RuleOffer& offer = known->second;
    ++offer.rewrites;
    if (std::ranges::find(offer.places, idea.opportunity.place) == offer.places.end())
      offer.places.push_back(idea.opportunity.place);
  }
  std::ranges::sort(found, {}, [&](auto& one) {
    return std::pair(-promise(one.first), std::ranges::find(all_rules(), one.first) - all_rules().begin());
  });
  std::vector<RuleOffer> offers;
  for (auto& [rule, offer] : found) offers.push_back(std::move(offer));
  return offers;
}

void RuleProposer::learn(const RunTrial& trial) {
  auto asked = asked_.find(trial.candidate.key());
  if (asked == asked_.end()) return;
  auto [rule, before, shrinks] = asked->second;
  asked_.erase(asked);
  auto& verdict = trial.verdict;
  if (verdict.ok() && before > 0) records_[rule].gained += std::max(0.0, std::log(verdict.speedup() / before));
  if (!shrinks || verdict.ok() || facts_.keep_grid) return;
  // The grid may have to stay, at these sizes or at others. All are enumerated again, with the forms that keep the
  // grid: those that were tried are answered from the history.
  facts_.keep_grid = true;
  ideas_.clear();
}

std::string RuleProposer::closing_note() const {
  std::string note;
  for (auto& one : declined_) note += (note.empty() ? "rules that do not apply: " : "; ") + one;
  return note;
}

std::vector<std::string> RuleProposer::take_notes() { return std::exchange(notes_, {}); }

}  // namespace kernelift::tuner
