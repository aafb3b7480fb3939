// See flag_proposer.h.
#include "tuner/compiler/flag_proposer.h"

#include <algorithm>

namespace kernelift::tuner {
namespace {

const char* const kLevels[] = {"O1", "O2", "O3", "Os"};
struct FastMath {
  const char* name;
  std::vector<std::string> flags;
};
const std::vector<FastMath>& fast_math() {
  static const std::vector<FastMath> all = {{"contract", {"contract"}},   {"reassoc", {"reassoc"}},
                                            {"arcp", {"arcp"}},           {"afn", {"afn"}},
                                            {"finite", {"nnan", "ninf"}}, {"nsz", {"nsz"}}};
  return all;
}
/// Whether the parameter usually matters for kernels of this bound: cheaper instructions for compute-bound kernels,
/// more independent work for latency-bound ones.
bool suits(const std::string& parameter, Bound bound) {
  switch (bound) {
    case Bound::Compute:
      return parameter != "level" && parameter != "unroll" && parameter != "partial" && parameter != "inline" &&
             parameter != "vectorize";
    case Bound::Latency: return parameter == "partial" || parameter == "unroll" || parameter == "inline";
    case Bound::Memory: return parameter == "partial" || parameter == "vectorize";
    case Bound::Unknown: return false;
  }
  return false;
}
FlagProposer::Pieces pieces_of(const Space& space, const Point& point) {
  Bindings values = space.bindings(point);
  FlagProposer::Pieces pieces;
  for (auto& piece : fast_math())
    if (values.at(piece.name)) pieces.insert(piece.name);
  return pieces;
}

constexpr size_t kRecipesOfModels = 8;  ///< Recipes that a model's text gets, though another text is faster.
constexpr size_t kInheritedFlags = 3;   ///< Recipes of an earlier base that are tried first on a new one.

}  // namespace

const RunTrial* compiler_base(const History& history) {
  const RunTrial *best = history.best_applicable(), *model = history.best_of_models();
  const bool due = model && model != best && history.children_of(model->id, "compiler") < kRecipesOfModels;
  return due ? model : best;
}

Space FlagProposer::recipe_space(const std::vector<Pieces>& wrong) {
  std::vector<Tunable> parameters{
      {"level", {0, 1, 2, 3}, 2, false},
      {"unroll", {-1, 0, 100, 300, 600, 1200, 3000}, 0},
      {"partial", {-1, 300, 1000, 100}, 0},  // For loops whose count is known at run time only.
      {"inline", {-1, 0, 100, 1000, 10000}, 0},
      {"vectorize", {0, 1}, 1}};
  for (auto& piece : fast_math()) parameters.push_back({piece.name, {0, 1}, 0});
  std::vector<Expression> constraints;
  for (auto& pieces : wrong) {
    std::optional<Expression> together;
    for (auto& piece : pieces) {
      auto chosen = Expression::variable(piece);
      together = together ? Expression::binary(Expression::Op::And, *together, chosen) : chosen;
    }
    if (together) constraints.push_back(Expression::unary(Expression::Op::Not, *together));
  }
  return *Space::create(std::move(parameters), std::move(constraints));
}

Recipe FlagProposer::recipe(const Space& space, const Point& point) {
  Bindings values = space.bindings(point);
  Recipe recipe;
  recipe.level = kLevels[values.at("level")];
  recipe.unroll_threshold = static_cast<int>(values.at("unroll"));
  recipe.inline_threshold = static_cast<int>(values.at("inline"));
  if (values.at("partial") >= 0)
    recipe.options.push_back("-unroll-partial-threshold=" + std::to_string(values.at("partial")));
  recipe.vectorize = values.at("vectorize") != 0;
  for (auto& piece : fast_math())
    if (values.at(piece.name)) recipe.fast_math.insert(recipe.fast_math.end(), piece.flags.begin(), piece.flags.end());
  return recipe;
}

FlagProposer::FlagProposer(std::string strategy, uint64_t seed, Bound bound, bool keep_precision)
    : strategy_(std::move(strategy)), seed_(seed), bound_(bound), keep_precision_(keep_precision) {}

void FlagProposer::begin(Base& base, const RunTrial& origin) {
  base.id = origin.id;
  if (keep_precision_) base.wrong = {{"arcp"}, {"afn"}, {"reassoc"}};
  base.space = recipe_space(base.wrong);
  base.searcher = *make_searcher(strategy_, base.space, seed_ + static_cast<uint64_t>(origin.id));
  Random random(seed_);
  Point start = base.space.start(random);
  base.searcher->tell({start, true, 1 / origin.verdict.speedup()});
  // Changes of a single parameter first: they are the most informative, and each is a sensible recipe.
  base.first = base.space.neighbours(start, false);
  std::reverse(base.first.begin(), base.first.end());
  // Recipes are taken from the end.
  std::vector<Point> preferred;
  std::erase_if(base.first, [&](const Point& point) {
    bool prefer = false;
    for (size_t p = 0; p < point.size(); ++p)
      prefer |= point[p] != start[p] && suits(base.space.parameters()[p].name, bound_);
    if (prefer) preferred.push_back(point);
    return prefer;
  });
  base.first.insert(base.first.end(), preferred.begin(), preferred.end());
  for (auto& [id, other] : bases_) {
    if (id == origin.id || !other.searcher) continue;
    auto seen = other.searcher->told();
    std::erase_if(seen, [](auto& observation) { return !observation.ok; });
    std::sort(seen.begin(), seen.end(), [](auto& a, auto& b) { return a.cost < b.cost; });
    for (size_t i = std::min(kInheritedFlags, seen.size()); i-- > 0;) base.first.push_back(seen[i].point);
  }
}

void FlagProposer::leave_out(Base& base, const Pieces& pieces) {
  if (pieces.empty()) return;
  auto told = base.searcher->told();
  auto has_all = [&](const Observation& seen) {
    Pieces those = pieces_of(base.space, seen.point);
    return seen.ok && std::includes(those.begin(), those.end(), pieces.begin(), pieces.end());
  };
  if (std::any_of(told.begin(), told.end(), has_all)) return;
  base.wrong.push_back(pieces);
  Space smaller = recipe_space(base.wrong);
  base.searcher.reset();  // It refers to the old space.
  base.space = std::move(smaller);
  base.searcher = *make_searcher(strategy_, base.space, seed_ + static_cast<uint64_t>(base.id) + base.wrong.size());
  for (auto& seen : told)
    if (base.space.valid(seen.point)) base.searcher->tell(seen);
  std::erase_if(base.first, [&](auto& point) { return !base.space.valid(point); });
}

std::vector<Proposal> FlagProposer::propose(const History& history, size_t count) {
  const RunTrial* origin = compiler_base(history);
  if (!origin) return {};
  Base& base = bases_[origin->id];
  if (!base.searcher) begin(base, *origin);
  std::vector<Proposal> proposals;
  while (proposals.size() < count) {
    Point point;
    if (!base.first.empty()) {
      point = base.first.back();
      base.first.pop_back();
    } else {
      auto asked = base.searcher->ask(1);
      if (asked.empty()) break;
      point = asked[0];
    }
    Proposal proposal{origin->candidate, {origin->id}};
    const UnitFlags of_file = proposal.candidate.recipe.unit_flags;
    proposal.candidate.recipe = recipe(base.space, point);
    if (proposal.candidate.recipe.is_default()) continue;
    proposal.candidate.recipe.unit_flags = of_file;
    proposal.candidate.tier = tier(), proposal.candidate.proposer = name();
    proposal.candidate.add_step(
        {.origin = Step::Origin::Recipe, .rule = name(), .summary = proposal.candidate.recipe.text()});
    if (!base.asked.emplace(proposal.candidate.key(), point).second)
      continue;  // A new searcher does not know the candidates in flight.
    proposals.push_back(std::move(proposal));
  }
  return proposals;
}

void FlagProposer::learn(const RunTrial& trial) {
  Hash key = trial.candidate.key();
  for (auto& [id, base] : bases_) {
    auto asked = base.asked.find(key);
    if (asked == base.asked.end()) continue;
    base.searcher->tell({asked->second, trial.verdict.ok(), trial.verdict.ok() ? 1 / trial.verdict.speedup() : 0});
    // Refused means that the kernel uses a value that the flag declares impossible.
    if (trial.verdict.outcome == Outcome::Wrong || trial.verdict.outcome == Outcome::Refused)
      leave_out(base, pieces_of(base.space, asked->second));
    base.asked.erase(asked);
  }
}

}  // namespace kernelift::tuner
