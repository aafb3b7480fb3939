// See parameter_proposer.h.
#include "tuner/space/parameter_proposer.h"

#include <algorithm>

#include "tuner/search/starting_points.h"
#include "tuner/space/kernel_template.h"

namespace kernelift::tuner {
namespace {

/// Number of best source texts that are tuned in turn. The original is tuned, too: a rewrite may gain little and leave
/// nothing to gain by parameters.
constexpr size_t kSources = 2;
/// What is so many times slower than the best with its best parameters yet is not tuned on: they hardly make up for it.
constexpr double kFarBehind = 3;
/// Settings of a template that are tried whether or not it is among the best: its first setting says little.
constexpr size_t kTemplateTrials = 64;

Observation observe(const Point& point, const Verdict& verdict) {
  // Costs are relative to the original measured in the same process, so that drift of the machine cancels.
  return {point, verdict.ok(), verdict.ok() ? 1 / verdict.speedup() : 0};
}

/// The failure shows that the parameter changes the results, rather than a lack of resources. An image that cannot be
/// loaded has another size of a variable that recorded data fills.
bool changes_results(const Verdict& verdict) {
  return verdict.outcome == Outcome::Wrong || verdict.outcome == Outcome::WroteOutside ||
         verdict.outcome == Outcome::CompileFailed || verdict.outcome == Outcome::Crashed ||
         (verdict.outcome == Outcome::LaunchFailed && verdict.stage == Stage::Load);
}

/// A winner of this tier has another text than the source that it was tuned from, in whose space tuning goes on.
const RunTrial* origin_of(const RunTrial* trial, const History& history) {
  while (trial->candidate.tier == "params" && !trial->parents.empty() && history.find(trial->parents[0]))
    trial = history.find(trial->parents[0]);
  return trial;
}

}  // namespace

ParameterProposer::ParameterProposer(const Mep& mep, std::string strategy, uint64_t seed,
                                     std::vector<EarlierRun> earlier)
    : mep_(mep), strategy_(std::move(strategy)), seed_(seed), earlier_(std::move(earlier)) {}

ParameterProposer::Base* ParameterProposer::base_for(const RunTrial& trial, const History& history) {
  auto& slot = bases_[trial.candidate.source];
  if (slot) return slot.get();
  slot = std::make_unique<Base>();
  slot->id = trial.id;
  slot->space = std::make_unique<MepSpace>(MepSpace::create(mep_, trial.candidate));
  const Space& space = slot->space->space();
  // Reported for the original only: a user cannot act on the knobs of a rewritten text.
  if (trial.candidate.tier == "baseline")
    for (auto* reasons : {&slot->space->left_alone(), &slot->space->blocks_left_alone()})
      for (auto& reason : *reasons) notes_.push_back("left alone: " + reason);
  if (space.parameters().empty()) return slot.get();
  Random random(seed_);
  Point start = space.start(random);
  for (auto& point : space.neighbours(start, true)) slot->probes.push_back(point);
  // The verdict on the start is known. Other probes of a resumed run are answered from the history.
  slot->probed.emplace(start, trial.verdict);
  if (slot->probes.empty()) start_searcher(*slot);
  return slot.get();
}

bool ParameterProposer::moves_dead_parameter(const Base& base, const Point& point) const {
  const auto& parameters = base.space->space().parameters();
  for (size_t p = 0; p < point.size(); ++p)
    if (point[p] != parameters[p].start && dead_.contains(parameters[p].name)) return true;
  return false;
}

void ParameterProposer::start_searcher(Base& base) {
  if (probing_ == &base) probing_ = nullptr;
  // Frozen parameters keep their position, so that indices stay valid.
  std::vector<size_t> dead;
  const auto& parameters = base.space->space().parameters();
  for (size_t p = 0; p < parameters.size(); ++p) {
    size_t moved = 0, wrong = 0;
    for (auto& [point, verdict] : base.probed)
      if (point[p] != parameters[p].start) ++moved, wrong += changes_results(verdict);
    if (moved && moved == wrong && dead_.insert(parameters[p].name).second)
      notes_.push_back(
          parameters[p].name.starts_with("block_")
              ? "no other " + parameters[p].name +
                    " gives right results; if the reason is a fixed size in the kernel (a shared array), a macro or "
                    "constant that the launch uses, too, would be tuned"
              : parameters[p].name + " changes what the kernel computes; left alone");
    if (dead_.contains(parameters[p].name)) dead.push_back(p);
  }
  std::map<Point, Verdict> probed = std::move(base.probed);
  std::vector<size_t> starts;
  for (auto& parameter : parameters) starts.push_back(parameter.start);
  for (size_t p : dead) *base.space = base.space->without(p);
  const Space& space = base.space->space();
  std::vector<std::string> remarks;
  std::shared_ptr<const Prior> prior = prior_of(space, earlier_, remarks);
  if (bases_.size() == 1) notes_.insert(notes_.end(), remarks.begin(), remarks.end());
  auto searcher = make_searcher(strategy_, space, seed_ + static_cast<uint64_t>(base.id), std::move(prior));
  KERNELIFT_ASSERT(searcher.ok(), "the strategy's name was checked");
  base.searcher = std::move(*searcher);
  for (auto& [point, verdict] : probed) {
    Point mapped = point;
    bool kept = true;
    for (size_t p : dead) kept = kept && mapped[p] == starts[p], mapped[p] = 0;
    if (kept && space.valid(mapped)) base.searcher->tell(observe(mapped, verdict));
  }
  begin(base);
}

std::shared_ptr<const Prior> ParameterProposer::prior_of(const Space& space, const std::vector<EarlierRun>& runs,
                                                         std::vector<std::string>& remarks) const {
  if (runs.empty() || !inherits(strategy_)) return nullptr;
  return std::make_shared<const Prior>(Prior::of(space, runs, remarks));
}

void ParameterProposer::begin(Base& base) const {
  std::vector<Point> points;
  for (auto& values : beginnings_) {
    if (points.size() == kTriedAtOnce) break;
    auto point = base.space->point_at(base.space->known(values));
    if (!point || std::ranges::find(points, *point) != points.end()) continue;
    points.push_back(*point);
    base.by_others.insert(*std::move(point));
  }
  if (points.empty()) return;
  std::vector<EarlierRun> runs = earlier_;
  runs.push_back(beginnings_run_);
  std::vector<std::string> remarks;
  base.searcher->begin_with(points, prior_of(base.space->space(), runs, remarks));
}

void ParameterProposer::begin_with(EarlierRun run, const std::vector<Bindings>& configurations, const std::string& by) {
  beginnings_run_ = std::move(run), beginnings_ = configurations, beginnings_by_ = by;
  for (auto& [source, base] : bases_)
    if (base->searcher) begin(*base);
}

double ParameterProposer::best_beside(const RunTrial& trial, const History& history) const {
  const RunTrial* origin = origin_of(&trial, history);
  const double most = std::max(trial.verdict.speedup(), origin->verdict.speedup());
  auto base = bases_.find(origin->candidate.source);
  return base == bases_.end() ? most : std::max(most, base->second->best);
}

std::vector<const RunTrial*> ParameterProposer::sources(const History& history) {
  std::vector<const RunTrial*> chosen = history.best_sources(kSources);
  auto add = [&](const RunTrial* trial) {
    if (trial && std::ranges::find(chosen, trial) == chosen.end()) chosen.push_back(trial);
  };
  add(history.baseline());
  if (const RunTrial* best = history.best())
    std::erase_if(chosen,
                  [&](auto* trial) { return kFarBehind * best_beside(*trial, history) < best->verdict.speedup(); });
  for (int64_t id : templates_) {
    const RunTrial* trial = history.find(id);
    auto base = trial ? bases_.find(trial->candidate.source) : bases_.end();
    if (base == bases_.end() || base->second->proposed < kTemplateTrials) add(trial);
  }
  if (!chosen.empty())
    std::rotate(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(next_source_++ % chosen.size()),
                chosen.end());
  return chosen;
}

std::vector<Proposal> ParameterProposer::propose(const History& history, size_t count) {
  std::vector<Proposal> proposals;
  std::vector<Base*> bases;
  for (auto* trial : sources(history)) bases.push_back(base_for(*origin_of(trial, history), history));
  if (std::ranges::find(bases, probing_) == bases.end()) probing_ = nullptr;  // It has fallen behind.
  for (Base* base : bases) {
    if (proposals.size() >= count) break;
    if (base->space->space().parameters().empty()) continue;
    std::vector<Point> points;
    if (!base->searcher) {
      if (probing_ && probing_ != base) continue;
      probing_ = base;
      while (!base->probes.empty() && proposals.size() + points.size() < count) {
        if (!moves_dead_parameter(*base, base->probes.front()))
          points.push_back(base->probes.front()), ++base->unanswered;
        base->probes.pop_front();
      }
      if (base->probes.empty() && base->unanswered == 0) start_searcher(*base);
    }
    if (base->searcher && proposals.size() + points.size() < count)
      points = base->searcher->ask(count - proposals.size());
    for (auto& point : points) {
      Proposal proposal{base->space->materialise(point), {base->id}};
      proposal.candidate.proposer = base->by_others.contains(point) ? beginnings_by_ : name();
      base->asked.emplace(proposal.candidate.key(), point);
      ++base->proposed;
      proposals.push_back(std::move(proposal));
    }
  }
  return proposals;
}

std::optional<Candidate> ParameterProposer::repeat(const Candidate& base, const Step& step) {
  if (step.origin != Step::Origin::Knob) return std::nullopt;
  const MepSpace space = MepSpace::create(mep_, base);
  auto point = space.point_at(step.parameters);
  if (!point) return std::nullopt;
  Candidate changed = space.materialise(*point);
  changed.proposer = name();
  return changed;
}

void ParameterProposer::learn(const RunTrial& trial) {
  Hash key = trial.candidate.key();
  if (trial.verdict.ok() && trial.candidate.tier == "source" && !trial.candidate.steps.empty()) {
    auto& last = trial.candidate.steps.back();
    const bool by_hand = last.origin == Step::Origin::Template, by_model = last.origin == Step::Origin::Model;
    if ((by_hand && templates_by_hand_.insert(last.rule).second) || (by_model && is_template(trial.candidate.source)))
      templates_.push_back(trial.id);
  }
  for (auto& [source, base] : bases_) {
    auto asked = base->asked.find(key);
    if (asked == base->asked.end()) continue;
    if (trial.verdict.ok()) base->best = std::max(base->best, trial.verdict.speedup());
    if (base->searcher) {
      base->searcher->tell(observe(asked->second, trial.verdict));
    } else if (base->probed.emplace(asked->second, trial.verdict).second && --base->unanswered == 0 &&
               base->probes.empty()) {
      start_searcher(*base);
    }
    base->asked.erase(asked);
  }
}

std::vector<std::string> blocks_not_tried(const Mep& mep, const Candidate& original,
                                          const std::vector<std::string>& tiers) {
  if (std::find(tiers.begin(), tiers.end(), "params") == tiers.end()) return {};
  return MepSpace::create(mep, original).blocks_left_alone();
}

std::vector<std::string> ParameterProposer::take_notes() { return std::exchange(notes_, {}); }

}  // namespace kernelift::tuner
