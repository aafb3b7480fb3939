// compare_values_of_launches() of legality.h. A thread is known by its number along each axis of the grid. If all
// integers by which threads differ are the same functions of it under both launches, equal numbers do the same.
#include <isl/options.h>
#include <isl/set.h>

#include <algorithm>
#include <memory>

#include "core/legality/assumptions.h"
#include "core/legality/conclusion.h"
#include "core/legality/conflicts.h"
#include "core/legality/isl_context.h"
#include "core/legality/launches.h"

namespace kernelift::legality {
namespace {

using Op = Expression::Op;
using Access = KernelModel::Access;

constexpr int64_t kExamples = 4096;  ///< Threads that are tried for an example.
constexpr double kMostSeconds = 1;   ///< Of processor time.

/// The expression over numbers in the grid ("grid.x") where the position occurs as such, in one form for equal sums.
Expression over_numbers(const Expression& expression, const LaunchShape& launch) {
  const Op op = expression.op();
  if (auto* name = expression.as_variable()) {
    for (int axis = 0; axis < 3; ++axis) {
      const std::string letter(1, "xyz"[axis]);
      const bool single = along(launch.block, axis) == 1,
                 alone = launch.grid[axis] && launch.grid[axis]->is_constant(1);
      if (*name == "tid." + letter && single) return Expression::constant(0);
      if (*name == "bid." + letter && alone) return Expression::constant(0);
      if ((*name == "tid." + letter && alone) || (*name == "bid." + letter && single))
        return Expression::variable("grid." + letter);
      if (*name == "nctaid." + letter && launch.grid[axis]) return over_numbers(*launch.grid[axis], launch);
    }
    return expression;
  }
  if (op != Op::Add && op != Op::Subtract && op != Op::Multiply && op != Op::Negate)
    return expression.rewritten([&](const Expression& node) -> std::optional<Expression> {
      return node == expression ? std::nullopt : std::optional(over_numbers(node, launch));
    });
  auto polynomial = Polynomial::of(expression);
  if (!polynomial) return expression;
  auto products = polynomial->products();
  Polynomial sum;
  for (int axis = 0; axis < 3; ++axis) {
    const std::string letter(1, "xyz"[axis]);
    // tid.x * n and ntid.x * bid.x * n, for whatever n is.
    for (auto& [factors, coefficient] : std::map(products)) {
      Polynomial::Factors rest = factors;
      auto tid = std::ranges::find(rest, "tid." + letter);
      if (tid == rest.end()) continue;
      rest.erase(tid);
      auto with = [&](const std::string& factor) {
        Polynomial::Factors all = rest;
        all.insert(std::ranges::upper_bound(all, factor), factor);
        return all;
      };
      auto bid = products.find(with("bid." + letter));
      if (bid == products.end() || bid->second != coefficient * along(launch.block, axis)) continue;
      Polynomial::Factors joined;
      for (auto& factor : with("grid." + letter))
        joined.push_back(over_numbers(Polynomial::factor(factor), launch).text());
      std::ranges::sort(joined);
      sum.add(joined, coefficient);
      products.erase(bid), products.erase(factors);
    }
  }
  for (auto& [factors, coefficient] : products) {
    Polynomial::Factors rewritten;
    for (auto& factor : factors) rewritten.push_back(over_numbers(Polynomial::factor(factor), launch).text());
    std::ranges::sort(rewritten);
    sum.add(rewritten, coefficient);
  }
  Expression total = Expression::constant(0);
  bool first = true;
  for (auto& [factors, coefficient] : sum.products()) {
    Expression product = Expression::constant(coefficient);
    for (auto& factor : factors) product = product * Polynomial::factor(factor);
    total = std::exchange(first, false) ? product : total + product;
  }
  return total;
}

class ValueComparison {
 public:
  ValueComparison(isl::ctx context, const Side& original, const Side& candidate, const Names& names)
      : setting_{context, original, candidate, with_members(names, original.model.members), {}, {}, {}, {}} {}

  Answer answer() {
    if (auto why = exchange()) return *why;
    if (auto why = compare_data()) return *why;
    auto launches = launched(setting_);
    if (!launches.not_known.empty()) return not_known(launches.not_known, 0);
    wrong_ = std::move(launches.wrong);
    if (auto why = memory_between_threads()) return *why;
    writes_ = setting_.asked.subtract(setting_.asked);
    if (!lonely_threads(setting_.original, setting_.candidate, "the candidate has no such thread", kWrites) ||
        !lonely_threads(setting_.candidate, setting_.original, "the original has no such thread", kWrites))
      return lonely_not_known();
    return conclude(setting_, wrong_, writes_, {});
  }

  /// What its memory is then known to be; asked after answer(), if that is a proof. A thread that only reads may read
  /// what the original does not.
  Answer of_memory() {
    if (!lonely_threads(setting_.candidate, setting_.original, "the original has no such thread", kReads))
      return lonely_not_known();
    return conclude(setting_, wrong_, writes_, {});
  }

 private:
  static Answer not_known(std::string why, unsigned line) {
    return {Answer::Kind::NotKnown, {}, std::move(why), line, {}};
  }

  std::optional<Answer> exchange() const {
    for (auto* side : {&setting_.original, &setting_.candidate}) {
      auto& model = side->model;
      if (!model.gaps.empty()) return not_known(model.gaps[0].what + at_line(model.gaps[0].line), model.gaps[0].line);
      if (!model.barriers.empty())
        return not_known("threads meet at the barrier" + at_line(model.barriers[0].line), model.barriers[0].line);
      for (auto& access : model.accesses)
        if (auto& object = model.objects[access.object]; object.kind == KernelModel::Object::Kind::Shared)
          return not_known("threads share " + setting_.shown(object) + at_line(access.line), access.line);
      if (!model.exchanges.empty())
        return not_known("threads exchange values by " + model.exchanges[0].what + at_line(model.exchanges[0].line),
                         model.exchanges[0].line);
    }
    return std::nullopt;
  }

  std::optional<Answer> compare_data() const {
    auto &ours = setting_.candidate.model.data, &theirs = setting_.original.model.data;
    if (ours.size() != theirs.size() || setting_.original.model.code != setting_.candidate.model.code)
      return not_known("the block's size changes the kernel's code", 0);
    for (size_t i = 0; i < ours.size(); ++i) {
      Expression mine = over_numbers(ours[i].value, setting_.candidate.launch);
      Expression other = over_numbers(theirs[i].value, setting_.original.launch);
      if (by_number(mine) && mine == other && same_meaning(mine, other)) continue;
      if (auto refuted = ours[i].stored ? example(theirs[i], ours[i]) : std::nullopt) return refuted;
      return not_known("a thread's value" + at_line(ours[i].line) + ", " + setting_.shown(ours[i].value) +
                           ", depends on its place in its block",
                       ours[i].line);
    }
    return std::nullopt;
  }

  /// Whether an expression over threads' numbers names nothing else of their place in the grid. (Two sides that both
  /// read `tid.x` mean different threads of the grid by it.)
  static bool by_number(const Expression& value) {
    return std::ranges::none_of(value.variables(), [](auto& name) {
      return name.starts_with("tid.") || name.starts_with("bid.") || name.starts_with("nctaid.");
    });
  }

  /// Terms of both sides under one name are made of the same, by the same threads of the grid.
  bool same_meaning(const Expression& mine, const Expression& other) const {
    auto variables = mine.variables();
    variables.merge(other.variables());
    return std::ranges::all_of(variables, [&](auto& name) {
      if (!name.starts_with("term.")) return true;
      auto *a = setting_.candidate.model.term(name), *b = setting_.original.model.term(name);
      if (!a || !b || !a->repeats || !b->repeats || a->value != b->value || a->arguments.size() != b->arguments.size())
        return false;
      for (size_t i = 0; i < a->arguments.size(); ++i) {
        const Expression ours = over_numbers(a->arguments[i], setting_.candidate.launch);
        if (!by_number(ours) || ours != over_numbers(b->arguments[i], setting_.original.launch) ||
            !same_meaning(a->arguments[i], b->arguments[i]))
          return false;
      }
      return true;
    });
  }

  /// A thread of both launches that stores two different numbers.
  std::optional<Answer> example(const KernelModel::Datum& theirs, const KernelModel::Datum& ours) const {
    for (int64_t size : {100, 1000, 5000}) {
      Bindings sizes;
      for (auto* part : {&theirs.value, &theirs.domain, &ours.value, &ours.domain})
        for (auto& name : part->variables())
          if (name.starts_with("arg.")) sizes[name] = size;
      for (int64_t number = 0; number < kExamples; ++number) {
        auto at = [&](const KernelModel::Datum& datum, const Side& side) -> std::optional<int64_t> {
          Bindings values = sizes;
          for (int axis = 0; axis < 3; ++axis) {
            const std::string letter(1, "xyz"[axis]);
            const int64_t threads = along(side.launch.block, axis), here = axis == 0 ? number : 0;
            values["tid." + letter] = here % threads, values["bid." + letter] = here / threads;
            auto blocks =
                side.launch.grid[axis] ? side.launch.grid[axis]->evaluate(values) : Result<int64_t>(int64_t(1));
            if (!blocks.ok() || here / threads >= *blocks) return std::nullopt;
            values["nctaid." + letter] = *blocks;
          }
          auto runs = datum.domain.evaluate(values), value = datum.value.evaluate(values);
          return runs.ok() && *runs && value.ok() ? std::optional(*value) : std::nullopt;
        };
        auto before = at(theirs, setting_.original), after = at(ours, setting_.candidate);
        if (!before || !after || *before == *after) continue;
        const std::string values = setting_.example(sizes);
        return Answer{Answer::Kind::Refuted,
                      {},
                      (values.empty() ? "" : values + ": ") + "thread " + std::to_string(number) +
                          " of the grid stores " + std::to_string(*after) + at_line(ours.line) + ", in the original " +
                          std::to_string(*before),
                      ours.line,
                      sizes};
      }
    }
    return std::nullopt;
  }

  /// A thread may read only what it wrote itself.
  std::optional<Answer> memory_between_threads() {
    for (auto* side : {&setting_.original, &setting_.candidate})
      for (size_t object = 0; object < side->model.objects.size(); ++object) {
        std::vector<const Access*> accesses;
        for (auto& access : side->model.accesses)
          if (access.object == object) accesses.push_back(&access);
        auto of = [&](Access::Kind kind) {
          return std::ranges::any_of(accesses, [&](auto* one) { return one->kind == kind; });
        };
        if (side->model.objects[object].kind == KernelModel::Object::Kind::Local) continue;
        if (!of(Access::Kind::Store) || (!of(Access::Kind::Load) && !of(Access::Kind::Atomic))) continue;
        const Shape shape = common_shape(accesses);
        const std::string name = setting_.shown(side->model.objects[object]);
        if (!shape.trouble.empty()) return not_known(name + ": " + shape.trouble, accesses[0]->line);
        std::vector<Touch> all;
        for (auto* access : accesses) all.emplace_back(setting_, *side, *access, shape, InstanceText::Scope::Grid);
        auto found = conflicts(setting_, *side, all, shape.strides.size(), InstanceText::Scope::Grid);
        const bool rows =
            std::ranges::any_of(all, [&](auto& one) { return !is_empty(one.leaves_row().intersect(setting_.asked)); });
        if (!found || !found->empty() || rows)
          return not_known("whether a thread reads what another one writes to " + name + at_line(accesses[0]->line),
                           accesses[0]->line);
      }
    return std::nullopt;
  }

  static constexpr bool kReads = true, kWrites = false;

  Answer lonely_not_known() const {
    return failed_ ? *failed_ : not_known("comparing its threads takes too many steps", 0);
  }

  /// Threads that write, or that read, and have no counterpart under the other launch. False: isl gave up, or it is not
  /// known.
  bool lonely_threads(const Side& side, const Side& other, const std::string& what, bool reads) {
    InstanceText there(other.launch, setting_.parameters, InstanceText::Scope::Grid);
    const std::string range = there.constraints();
    for (auto& access : side.model.accesses) {
      if ((access.kind == Access::Kind::Load) != reads) continue;
      InstanceText text(side.launch, setting_.parameters, InstanceText::Scope::Grid);
      text.constrain(access.domain);
      if (text.strides())
        return failed_ = not_known("a grid-stride loop gives its threads other elements", access.line), false;
      isl::set threads(setting_.context, "[" + text.parameter_list() + "] -> { I[" + text.dimensions() +
                                             "] : " + text.constraints() + " }");
      isl::map numbers(setting_.context, "{ I[" + text.dimensions() + "] -> N[g_x, g_y, g_z] }");
      isl::set others(setting_.context, "[" + text.parameter_list() + "] -> { N[g_x, g_y, g_z] : " + range + " }");
      isl::set here = threads.apply(numbers), lonely = here.subtract(others).params().intersect(setting_.asked);
      if (lonely.is_null()) return false;
      if (!reads) writes_ = writes_.unite(here.params());
      if (is_empty(lonely)) continue;
      if (!text.exact())
        return failed_ = not_known(
                   std::string("which threads ") + (reads ? "read" : "write") + " depends on " + text.reason(),
                   access.line),
               false;
      // What it reads may be an element that others read, too.
      wrong_.push_back({lonely, std::string("a thread ") + word(access.kind) + at_line(access.line) + ", and " + what,
                        access.line, /*may_be_right=*/reads});
    }
    return true;
  }

  Setting setting_;
  std::vector<Wrong> wrong_;
  isl::set writes_;  ///< Parameters for which a thread writes.
  std::optional<Answer> failed_;
};

bool is_proof(const Answer& answer) {
  return answer.kind == Answer::Kind::Proven || answer.kind == Answer::Kind::UnderPremise;
}

}  // namespace

Answer compare_values_of_launches(const Side& original, const Side& candidate, const Names& names, Bounds bounds) {
  BoundedContext context(bounds.operations, std::min(bounds.seconds, kMostSeconds), bounds.stop);
  return ValueComparison(context.get(), original, candidate, names).answer();
}

Answer compare_launches(const Side& original, const Side& candidate, const Names& names, Bounds bounds) {
  using Kind = Answer::Kind;
  const double begin = thread_seconds();
  Answer values, same_threads;
  {
    BoundedContext context(bounds.operations, std::min(bounds.seconds, kMostSeconds), bounds.stop);
    ValueComparison comparison(context.get(), original, candidate, names);
    values = comparison.answer();
    if (is_proof(values)) same_threads = comparison.of_memory();
  }
  if (is_proof(same_threads))
    same_threads.assumptions = assumptions(original, candidate), same_threads.same_values = true;
  // The same threads doing the same touch the same, whatever their indices are.
  if (same_threads.kind == Kind::Proven) return same_threads;
  bounds.seconds -= thread_seconds() - begin;
  Answer memory = compare_memory(original, candidate, names, bounds);
  if (memory.kind == Kind::NotKnown && is_proof(same_threads)) return same_threads;
  if (memory.kind == Kind::Refuted || memory.kind == Kind::NotKnown || memory.same_values) return memory;
  if (values.kind == Kind::Refuted) return values;
  if (values.kind == Kind::NotKnown) return memory;
  memory.same_values = true;
  if (values.kind == Kind::Proven) return memory;
  if (memory.kind == Kind::Proven) {
    values.assumptions = std::move(memory.assumptions), values.same_values = true;
    return values;
  }
  if (*memory.premise != *values.premise)
    memory.premise = Expression::binary(Expression::Op::And, *memory.premise, *values.premise);
  return memory;
}

}  // namespace kernelift::legality
