// See size_comparison.h.
#include "sandbox/evaluate/size_comparison.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>

#include "core/base/processor_time.h"
#include "core/compiler/written/source_tokens.h"
#include "core/model/kernel/declared_number.h"
#include "core/model/kernel_key.h"
#include "core/model/launch/limits.h"
#include "core/model/launch_values.h"
#include "sandbox/evaluate/passed_twice.h"
#include "sandbox/evaluate/size_plan.h"

namespace kernelift::sandbox {
namespace {

/// The text's tokens without `#pragma unroll`.
std::string without_unrolling(const std::string& text) {
  const std::vector<SourceToken> tokens = source_tokens(text);
  const std::vector<DirectiveTokens> all = directives(tokens);
  std::string left;
  size_t next = 0;
  for (size_t at = 0; at < tokens.size();) {
    while (next < all.size() && all[next].begin <= at) ++next;
    // A directive's tokens are counted from behind its '#'.
    const bool unrolls = next < all.size() && all[next].begin == at + 1 && at + 2 < all[next].end &&
                         tokens[at + 1].is("pragma") && tokens[at + 2].is("unroll");
    if (unrolls) {
      at = all[next].end;
      continue;
    }
    left += (tokens[at].starts_line ? "\n" : " ") + tokens[at].text;
    ++at;
  }
  return left;
}

/// The axes along which the candidate is launched with another grid or block than the original.
std::set<int> changed_axes(const Candidate& candidate, const Mep& mep) {
  std::set<int> axes;
  for (auto& launch : candidate.launches) {
    const CandidateLaunch recorded = CandidateLaunch::as_recorded(launch.kernel);
    for (int axis = 0; axis < 3; ++axis)
      if (!(launch.grid[axis] == recorded.grid[axis]) || !(launch.block[axis] == recorded.block[axis]))
        axes.insert(axis);
  }
  const Bindings constants = mep.named_values();
  for (auto& [name, value] : candidate.values) {
    const auto known = constants.find(name);
    if (known == constants.end() || known->second == value) continue;
    for (auto* site : mep.all_launches()) {
      if (!site->uses(name)) continue;
      auto uses = [&](const std::optional<Expression>& size) { return !size || size->uses(name); };
      std::set<int> changed;
      for (int axis = 0; axis < 3; ++axis)
        if (uses(site->grid[axis]) || uses(site->block[axis])) changed.insert(axis);
      if (changed.empty()) changed = {0, 1, 2};  // It is used in another way.
      axes.merge(changed);
    }
  }
  return axes;
}

/// The candidate is launched with another grid or block than the original.
bool changes_launch(const Candidate& candidate, const Mep& mep) { return !changed_axes(candidate, mep).empty(); }

Verdict of_unknown_launches(Verdict verdict) {
  verdict.outcome = Outcome::Refused, verdict.stage = Stage::Verify;
  verdict.detail =
      "its grid or block is another one, and how many blocks the application launches at other sizes is not known, nor "
      "is it proven to be right with any number of them";
  verdict.timings.clear();
  return verdict;
}

using Kind = legality::Answer::Kind;

constexpr int kAskingNiceness = 19;
/// Of the time that a confirmation has, for the question at other sizes.
constexpr double kShareOfConfirmation = 0.15;

/// The bytes of which every address of a number of this canonical type is a multiple; 1: not known.
uint64_t alignment_of(const std::string& type) {
  if (auto number = DeclaredNumber::of(type)) return number->bits / 8;
  return type == "float" ? sizeof(float) : type == "double" ? sizeof(double) : 1;
}

/// An assumption of the comparison in the words of a verdict.
Premise premise_of(const legality::Assumption& assumption, const legality::Names& names) {
  using Assumed = legality::Assumption::Kind;
  std::set<std::string> arguments;
  for (auto& argument : assumption.arguments) {
    auto found = names.find(argument);
    arguments.insert(found == names.end() ? argument : found->second);
  }
  if (assumption.kind == Assumed::DifferentMemory) return Premise::no_overlap(arguments);
  return Premise::aligned(*arguments.begin(), assumption.bytes);
}

legality::Names names_of(const Mep& mep) {
  legality::Names names;
  for (size_t p = 0; p < mep.parameters.size(); ++p) names[model_argument(p)] = mep.parameters[p].name;
  for (const char* axis : {"x", "y", "z"}) names[std::string("blocks.") + axis] = std::string("gridDim.") + axis;
  return names;
}

/// What the kernel's parameters and their members are declared as, by the model's variables; without those of a union
/// of which that differs.
std::map<std::string, DeclaredNumber> declared_numbers(const Mep& mep,
                                                       const std::vector<KernelModel::Member>& members) {
  std::map<std::string, DeclaredNumber> declared;
  for (size_t p = 0; p < mep.parameters.size(); ++p)
    if (auto number = DeclaredNumber::of(mep.parameters[p].scalar)) declared.emplace(model_argument(p), *number);
  std::set<std::string> different;
  for (auto& member : members)
    if (auto number = DeclaredNumber::of(member.type))
      if (!(declared.emplace(member.variable(), *number).first->second == *number)) different.insert(member.variable());
  for (auto& name : different) declared.erase(name);
  return declared;
}

/// Why, with an example's numbers as C has them.
std::string explanation(const legality::Answer& answer, const legality::Names& names,
                        const std::map<std::string, DeclaredNumber>& declared) {
  std::string why = answer.why;
  for (auto& [variable, value] : answer.example) {
    auto number = declared.find(variable);
    auto name = names.find(variable);
    if (value >= 0 || number == declared.end() || !number->second.is_unsigned || name == names.end()) continue;
    const std::string before = name->second + " = ", read = before + std::to_string(value);
    const uint64_t bits = static_cast<uint64_t>(value) & (~uint64_t(0) >> (64 - number->second.bits));
    const size_t at = why.find(read);
    if (at != why.npos && (at == 0 || why[at - 1] == ' ')) why.replace(at, read.size(), before + std::to_string(bits));
  }
  return why;
}

/// A launch's dynamic shared memory has the bytes that the application asks for.
bool is_as_recorded(const Expression& shared) { return shared == CandidateLaunch::as_recorded("").shared; }

/// The more careful of two answers, with its explanation.
bool is_worse(const legality::Answer& answer, const legality::Answer& than) {
  auto rank = [](Kind kind) {
    return kind == Kind::Refuted ? 3 : kind == Kind::NotKnown ? 2 : kind == Kind::UnderPremise ? 1 : 0;
  };
  return rank(answer.kind) > rank(than.kind);
}

}  // namespace

SizeComparison::SizeComparison(const Mep& mep, CompilePool& pool, std::string source, std::optional<uint64_t> seed)
    : mep_(mep),
      source_(std::move(source)),
      without_unrolling_(without_unrolling(source_)),
      launches_(launches_of(mep)),
      compared_blocks_(has_recorded_block(mep)),
      names_(names_of(mep)),
      seed_(seed ? *seed : std::random_device{}()),
      models_(pool) {
  KERNELIFT_ASSERT(!launches_.empty(), "a MEP that is judged has recorded launches");
}

SizeComparison::SizeComparison(SizeComparison& as_it_is, const Mep& other, CompilePool& pool, std::string source)
    : SizeComparison(other, pool, std::move(source), as_it_is.seed_) {
  auto& own = as_it_is.launches_;
  auto modelled = as_it_is.model(as_it_is.source_, other.kernel_mangled, own.front().shape.block);
  if (!modelled.ok()) return;
  grids_recorded_ = !std::ranges::all_of(as_it_is.mep_.instances, [&](auto& instance) {
    return std::ranges::any_of(own, [&](auto& launch) {
      return as_it_is.explains(over_members(launch.shape, (*modelled)->members), instance);
    });
  });
}

bool SizeComparison::explains(const legality::LaunchShape& shape, const MepInstance& instance) {
  if (instance.geometry.block != shape.block) return false;
  const Bindings values = recorded(instance);
  for (int axis = 0; axis < 3; ++axis)
    if (auto blocks = shape.grid[axis]->evaluate(values); blocks.ok() && *blocks != along(instance.geometry.grid, axis))
      return false;
  return true;
}

legality::LaunchShape SizeComparison::borne_out(const ApplicationLaunch& launch,
                                                const std::vector<KernelModel::Member>& members) {
  legality::LaunchShape shape = over_members(launch.shape, members);
  for (auto& instance : mep_.instances) {
    if (!grids_recorded_ || instance.geometry.block != shape.block) continue;
    if (std::ranges::any_of(launches_, [&](auto& one) { return explains(over_members(one.shape, members), instance); }))
      continue;
    const Bindings values = recorded(instance);
    for (int axis = 0; axis < 3; ++axis)
      if (auto blocks = shape.grid[axis]->evaluate(values);
          blocks.ok() && *blocks != along(instance.geometry.grid, axis))
        shape.grid[axis] = unknown_grid(mep_, axis);
  }
  return shape;
}

KernelModels::Modelled SizeComparison::model(const std::string& source, const std::string& kernel, const Dim3& block) {
  auto made = models_.of(source, kernel, block);
  std::lock_guard lock(mutex_);
  if (members_.empty() && made.ok()) members_ = (*made)->members;
  return made;
}

std::vector<KernelModel::Member> SizeComparison::members() {
  std::lock_guard lock(mutex_);
  return members_;
}

legality::Names SizeComparison::names() {
  std::lock_guard lock(mutex_);
  return with_members(names_, members_);
}

std::optional<Expression> SizeComparison::declared(const Expression& premise) {
  std::lock_guard lock(mutex_);
  return over_declared(premise, declared_numbers(mep_, members_));
}

Bindings SizeComparison::recorded(const MepInstance& instance) {
  Bindings values;
  for (size_t p = 0; p < mep_.parameters.size(); ++p)
    if (auto value = mep_.integer_argument(instance, p)) values[model_argument(p)] = *value;
  for (int axis = 0; axis < 3; ++axis)
    values[std::string("blockDim.") + "xyz"[axis]] = along(instance.geometry.block, axis);
  std::lock_guard lock(mutex_);
  for (auto& member : members_)
    if (auto value = mep_.integer_member(instance, member.parameter, member.offset, member.type))
      values[member.variable()] = *value;
  // As models read them.
  for (auto& [name, number] : declared_numbers(mep_, members_))
    if (auto value = values.find(name); value != values.end()) value->second = number.as_signed(value->second);
  return values;
}

std::optional<Expression> SizeComparison::has_room(const KernelModel& original, const KernelModel& candidate,
                                                   const ApplicationLaunch& launch, legality::Answer& answer) const {
  using Op = Expression::Op;
  constexpr int64_t kAlignment = 16;
  auto bytes_of = [](const KernelModel& model) {
    int64_t bytes = 0;
    for (auto& object : model.objects)
      if (object.kind == KernelModel::Object::Kind::Shared && object.bytes)
        bytes += (static_cast<int64_t>(*object.bytes) + kAlignment - 1) / kAlignment * kAlignment;
    return bytes;
  };
  const int64_t before = bytes_of(original), after = bytes_of(candidate);
  if (after <= before || (launch.shared && launch.shared->evaluate({}).ok())) return std::nullopt;
  const std::string its = "its " + std::to_string(after) + " bytes of shared memory";
  auto is_parameter = [](auto& name) { return name.starts_with("arg.a") && name.find('.', 5) == name.npos; };
  if (!launch.shared || !std::ranges::all_of(launch.shared->variables(), is_parameter)) {
    answer = {Kind::NotKnown,
              {},
              "whether " + its + " fit beside the dynamic ones of " + launch.place + " is not known",
              0,
              {}};
    return std::nullopt;
  }
  // The application may have asked for more than a block has otherwise: what ran was enough.
  int64_t most = kOrdinarySharedBytes;
  for (auto& instance : mep_.instances)
    most = std::max(most, static_cast<int64_t>(instance.geometry.shared_bytes) + after);
  answer.why = answer.kind == Kind::Proven ? "there is no room for " + its : answer.why;
  return Expression::binary(Op::LessEqual, *launch.shared, Expression::constant(most - after));
}

legality::Answer SizeComparison::compare(const Candidate& candidate, const ApplicationLaunch& launch,
                                         legality::Bounds bounds) {
  // What is right for any number of blocks needs none of the conditions under which it is known.
  if (launch.shape.grid_where && candidate.launches.empty()) {
    ApplicationLaunch any = launch;
    any.shape = of_any_grid(mep_, launch.shape);
    auto answer = compare(candidate, any, bounds);
    if (answer.kind == Kind::Proven || answer.kind == Kind::UnderPremise) return answer;
  }
  auto not_known = [](std::string why) { return legality::Answer{Kind::NotKnown, {}, std::move(why), 0, {}}; };
  if (candidate.launches.size() > 1) return not_known("it is launched in several steps");
  if (!candidate.scratch.empty()) return not_known("it uses memory of its own");
  auto original = model(source_, mep_.kernel_mangled, launch.shape.block);
  if (!original.ok()) return not_known(original.error().message);
  const legality::LaunchShape own = borne_out(launch, (*original)->members);
  legality::LaunchShape shape = own;
  std::string kernel = mep_.kernel_mangled;
  if (!candidate.launches.empty()) {
    auto& wanted = candidate.launches[0];
    if (wanted.kernel != mep_.kernel_name) {
      // Of the same template it is an instance like the application's, of which the text then has no other.
      if (wanted.kernel.find('<') == wanted.kernel.npos || base_name(wanted.kernel) != base_name(mep_.kernel_name))
        return not_known("another kernel is launched");
      kernel = wanted.kernel;
    }
    std::map<std::string, Expression> known;
    for (int axis = 0; axis < 3; ++axis) {
      known.emplace(kGridVariables[axis], *own.grid[axis]);
      known.emplace(kBlockVariables[axis], Expression::constant(along(own.block, axis)));
    }
    for (auto& [name, value] : mep_.named_values()) known.emplace(name, Expression::constant(value));
    for (auto& [name, value] : candidate.values) known.insert_or_assign(name, Expression::constant(value));
    for (size_t p = 0; p < mep_.parameters.size(); ++p)
      if (mep_.parameters[p].is_integer())
        known.emplace(mep_.parameters[p].name, Expression::variable(model_argument(p)));
    for (int axis = 0; axis < 3; ++axis) {
      shape.grid[axis] = wanted.grid[axis].substitute(known).simplified();
      auto threads = wanted.block[axis].substitute(known).evaluate({});
      if (!threads.ok()) return not_known("its block depends on " + wanted.block[axis].text());
      along(shape.block, axis) = static_cast<uint32_t>(*threads);
    }
  }
  auto changed = model(candidate.source, kernel, shape.block);
  if (!changed.ok()) return not_known(changed.error().message);
  const bool has_dynamic = std::ranges::any_of((*changed)->objects, [](auto& object) {
    return object.kind == KernelModel::Object::Kind::Shared && !object.bytes;
  });
  if (has_dynamic && !candidate.launches.empty() && !is_as_recorded(candidate.launches[0].shared))
    return not_known("whether its dynamic shared memory of " + candidate.launches[0].shared.text() +
                     " bytes suffices is not understood");
  const legality::Side before{**original, own}, after{**changed, shape};
  const bool launched_otherwise = own.block != shape.block || own.grid != shape.grid;
  auto answer = launched_otherwise && candidate.source == source_
                    ? legality::compare_launches(before, after, names_, bounds)
                    : legality::compare_memory(before, after, names_, bounds);
  if (answer.kind == Kind::Proven || answer.kind == Kind::UnderPremise)
    if (auto room = has_room(**original, **changed, launch, answer)) {
      answer.premise = answer.premise ? Expression::binary(Expression::Op::And, *answer.premise, *room) : *room;
      answer.kind = Kind::UnderPremise, answer.same_values = false;
    }
  // A pointer to numbers leads to one.
  std::erase_if(answer.assumptions, [&](auto& assumption) {
    if (assumption.kind != legality::Assumption::Kind::Aligned) return false;
    for (size_t p = 0; p < mep_.parameters.size(); ++p)
      if (assumption.arguments.front() == model_argument(p))
        return assumption.bytes <= alignment_of(mep_.parameters[p].pointee);
    return false;
  });
  // A proof for different memory says nothing of a launch that gives one memory twice. Where it is wrong for different
  // memory, that is worth a question all the same: the premise stays.
  for (auto& assumption : answer.assumptions)
    for (auto& [p, q] : launch.one_memory)
      if (assumption.kind == legality::Assumption::Kind::DifferentMemory &&
          std::ranges::count(assumption.arguments, model_argument(p)) &&
          std::ranges::count(assumption.arguments, model_argument(q))) {
        auto unknown = not_known(launch.place + " gives one memory for " + mep_.parameters[p].name + " and " +
                                 mep_.parameters[q].name + ", which are compared as different memory");
        unknown.premise = answer.premise;
        return unknown;
      }
  // The application may never launch a grid for which a text is wrong. But where it is not known what a launch covers,
  // its geometry stays.
  const bool supposed = std::ranges::any_of(own.grid, [](auto& size) {
    return std::ranges::any_of(size->variables(), [](auto& name) { return name.starts_with("blocks."); });
  });
  auto may_hold = [&](auto& instance) {
    auto holds = answer.premise->evaluate(recorded(instance));
    return !holds.ok() || *holds != 0;
  };
  if (answer.kind == Kind::UnderPremise && !mep_.instances.empty() && std::ranges::none_of(mep_.instances, may_hold))
    answer.kind = Kind::Refuted, answer.why = "its condition " +
                                              declared(*answer.premise).value_or(*answer.premise).text(names()) +
                                              " holds for no recorded launch: " + answer.why;
  if (answer.kind == Kind::Refuted) answer.premise.reset();
  if (answer.kind != Kind::Refuted || !supposed) return answer;
  answer.why = "how many blocks " + launch.place + " has is not known, and for some numbers " + answer.why;
  if (!launched_otherwise) answer.kind = Kind::NotKnown, answer.example.clear();
  return answer;
}

legality::Answer SizeComparison::answer(const Candidate& candidate, legality::Bounds bounds) {
  // What only tells the compiler how often to unroll means the same.
  if (candidate.source != source_ && candidate.scratch.empty() && !changes_launch(candidate, mep_) &&
      without_unrolling(candidate.source) == without_unrolling_)
    return {Kind::Proven, {}, {}, 0, {}, {}, true};
  Candidate what;
  what.source = candidate.source, what.launches = candidate.launches, what.scratch = candidate.scratch;
  what.values = candidate.values;
  const Hash key = what.key();
  {
    std::lock_guard lock(mutex_);
    if (auto found = answers_.find(key); found != answers_.end() && found->second.serves(bounds.seconds))
      return found->second.answer;
  }
  legality::Answer worst{Kind::Proven, {}, {}, 0, {}};
  std::optional<Expression> premise;
  std::vector<legality::Assumption> assumptions;
  bool same_values = true;
  std::string may_race;
  const double begin = thread_seconds();
  for (auto& launch : launches_) {
    legality::Bounds left = bounds;
    left.seconds -= thread_seconds() - begin;
    auto answer = compare(candidate, launch, left);
    same_values &= answer.same_values;
    if (may_race.empty()) may_race = answer.may_race;
    for (auto& one : answer.assumptions)
      if (std::ranges::find(assumptions, one) == assumptions.end()) assumptions.push_back(one);
    if (answer.premise)
      premise = !premise || *premise == *answer.premise
                    ? answer.premise
                    : std::optional(Expression::binary(Expression::Op::And, *premise, *answer.premise));
    if (is_worse(answer, worst)) worst = std::move(answer);
  }
  const bool changes = candidate.source != source_ || !candidate.launches.empty();
  const bool proven = worst.kind == Kind::Proven || worst.kind == Kind::UnderPremise;
  if (proven && changes && compared_blocks_) {
    premise = premise ? Expression::binary(Expression::Op::And, *compared_blocks_, *premise) : *compared_blocks_;
    if (worst.kind == Kind::Proven)
      worst.why = "launches with other blocks were not compared", worst.wrong_elsewhere = false;
    worst.kind = Kind::UnderPremise;
  }
  // A launch asks a premise, and what asks nothing stays the original; what is proven takes the original's place.
  if (worst.kind == Kind::Proven && changes && !mep_.unseen_launches.empty())
    worst.kind = Kind::NotKnown, worst.why = "there may be other launches: " + mep_.unseen_launches;
  if (worst.kind == Kind::UnderPremise || worst.kind == Kind::NotKnown) worst.premise = premise;
  worst.same_values = same_values, worst.may_race = worst.kind == Kind::NotKnown ? may_race : "";
  worst.assumptions.clear();
  if (worst.kind == Kind::Proven || worst.kind == Kind::UnderPremise) worst.assumptions = std::move(assumptions);
  const bool in_time = worst.kind != Kind::NotKnown || thread_seconds() - begin < bounds.seconds;
  if (bounds.stop.stop_requested()) return worst;
  std::lock_guard lock(mutex_);
  if (answers_.size() >= kMostAnswers) answers_.clear();  // What is asked again is asked soon, if at all.
  // Who has less time to begin with says nothing of it.
  if (in_time || bounds.seconds >= patience_)
    patience_ = in_time ? legality::Bounds().seconds : std::max(kLeastPatience, patience_ / 2);
  return answers_.insert_or_assign(key, Answered{std::move(worst), bounds.seconds, in_time}).first->second.answer;
}

void SizeComparison::note_conditions(SizeQuestion& question) {
  auto original = model(source_, mep_.kernel_mangled, launches_.front().shape.block);
  if (!original.ok()) return;
  std::set<std::string> names, places;
  for (auto& access : (*original)->accesses) names.merge(access.domain.variables());
  for (auto& barrier : (*original)->barriers) names.merge(barrier.domain.variables());
  (*original)->add_inner_terms(names);
  for (size_t p = 0; p < mep_.parameters.size(); ++p)
    if (names.contains(model_argument(p))) question.conditions.insert(p);
  for (auto& access : (*original)->accesses) places.merge(access.offset.variables());
  (*original)->add_inner_terms(places);
  places.merge(names);
  question.asks_grid = std::ranges::any_of(places, [](auto& name) { return name.starts_with("nctaid."); });
}

legality::Bounds SizeComparison::bounds_of_finalist(std::optional<Deadline> deadline) {
  legality::Bounds bounds;
  if (!deadline) return bounds;
  const double left = std::chrono::duration<double>(*deadline - Deadline::clock::now()).count();
  bounds.seconds = std::clamp(kShareOfConfirmation * left, kLeastPatience, bounds.seconds);
  return bounds;
}

SizePlan SizeComparison::sizes_to_run(const Candidate& candidate, legality::Bounds bounds) {
  if (mep_.instances.empty()) return {};
  const legality::Answer known = answer(candidate, bounds);
  SizeQuestion question{candidate, {}, {}, known.premise, {}, seed_};
  note_conditions(question);
  for (auto& source : {source_, candidate.source})
    if (auto made = model(source, mep_.kernel_mangled, launches_.front().shape.block); made.ok())
      question.compared.add((*made)->compared);
  for (auto& instance : mep_.instances) question.recorded.push_back(recorded(instance));
  std::vector<Premise> premises;
  for (auto& assumption : known.assumptions) premises.push_back(premise_of(assumption, names()));
  for (auto& step : candidate.steps) premises.insert(premises.end(), step.premises.begin(), step.premises.end());
  for (auto& premise : premises)
    for (size_t p = 0; p < mep_.parameters.size(); ++p)
      if (premise.kind == Premise::Kind::Aligned && premise.arguments.front() == mep_.parameters[p].name)
        question.aligned.insert(p);
  question.members = members();
  return plan_sizes(mep_, question);
}

Evaluation SizeComparison::judged(Evaluation evaluation, const Candidate& candidate, legality::Bounds bounds) {
  auto* verdict = std::get_if<Verdict>(&evaluation);
  return verdict && verdict->ok() ? with(answer(candidate, bounds), std::move(evaluation), candidate.recipe)
                                  : evaluation;
}

bool SizeComparison::is_launched_otherwise(const Candidate& candidate) {
  const std::set<int> axes = changed_axes(candidate, mep_);
  return !axes.empty() && !mep_.launches.empty() && !knows_launches(mep_, axes, members());
}

Evaluation SizeComparison::confirmed(Evaluation evaluation, const Candidate& candidate, legality::Bounds bounds) {
  evaluation = judged(std::move(evaluation), candidate, bounds);
  auto* verdict = std::get_if<Verdict>(&evaluation);
  if (!verdict || !verdict->ok() || !is_launched_otherwise(candidate) ||
      (verdict->other_sizes && verdict->other_sizes->proven()))
    return evaluation;
  return of_unknown_launches(*verdict);
}

bool SizeComparison::is_understood() {
  {
    std::lock_guard lock(mutex_);
    if (understood_) return *understood_;
  }
  const bool understood = launches_.empty() || std::ranges::any_of(launches_, [&](auto& launch) {
                            auto original = model(source_, mep_.kernel_mangled, launch.shape.block);
                            return !original.ok() || (*original)->gaps.empty();
                          });
  std::lock_guard lock(mutex_);
  return *(understood_ = understood);
}

std::optional<Evaluation> SizeComparison::refuted(const Candidate& candidate) {
  // What its confirmation would refuse whatever it is: of an original that is not understood nothing can be proven.
  const bool unknown = !is_understood() && is_launched_otherwise(candidate);
  if (unknown && candidate.source != source_) return of_unknown_launches({});
  if (candidate.source != source_ || candidate.launches.empty() || !candidate.scratch.empty()) return std::nullopt;
  legality::Bounds bounds;
  bounds.seconds = kLeastPatience;
  Verdict right;
  right.stage = Stage::Verify;
  Evaluation evaluation = judged(right, candidate, bounds);
  const Verdict& verdict = std::get<Verdict>(evaluation);
  if (!verdict.ok()) return evaluation;
  if (unknown && !(verdict.other_sizes && verdict.other_sizes->proven())) return of_unknown_launches(verdict);
  return std::nullopt;
}

std::future<Evaluation> SizeComparison::ask(Evaluation evaluation, Candidate candidate) {
  return std::async(std::launch::async, [this, evaluation = std::move(evaluation), candidate = std::move(candidate)] {
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kAskingNiceness);  // Of this thread alone.
    legality::Bounds bounds;
    {
      std::lock_guard lock(mutex_);
      bounds.seconds = patience_, bounds.stop = asking_.get_token();
    }
    return with(answer(candidate, bounds), evaluation, candidate.recipe);
  });
}

void SizeComparison::abandon() {
  std::lock_guard lock(mutex_);
  asking_.request_stop();
  asking_ = {};
}

Evaluation SizeComparison::with(legality::Answer known, Evaluation evaluation, const Recipe& recipe) {
  auto& verdict = std::get<Verdict>(evaluation);
  const legality::Names shown = names();
  {
    std::lock_guard lock(mutex_);
    known.why = explanation(known, shown, declared_numbers(mep_, members_));
  }
  OtherSizes sizes;
  using Known = OtherSizes::Known;
  sizes.known = known.kind == Kind::Proven         ? Known::Proven
                : known.kind == Kind::UnderPremise ? Known::UnderPremise
                : known.kind == Kind::Refuted      ? Known::Refuted
                                                   : Known::Not;
  if (sizes.known == Known::Refuted) {
    verdict.outcome = Outcome::Wrong, verdict.stage = Stage::Verify;
    verdict.detail = "at sizes that were not recorded: " + known.why;
    verdict.timings.clear();
  }
  if (!known.may_race.empty()) {
    verdict.outcome = Outcome::Refused, verdict.stage = Stage::Verify;
    verdict.detail = "values in memory decide whether " + known.may_race +
                     ", and no two threads of the original do, whatever they are";
    verdict.timings.clear();
  }
  if (known.premise) {
    known.premise = declared(*known.premise);
    if (!known.premise) {
      sizes.known = Known::Not, known.same_values = false, known.assumptions.clear();
      known.why = "its premise is about a number whose type is not known: " + known.why;
    }
  }
  for (auto& one : known.assumptions) sizes.assumptions.push_back(premise_of(one, shown));
  if (known.premise) sizes.premise = spelled(*known.premise, shown);
  sizes.why = std::move(known.why), sizes.wrong_elsewhere = known.wrong_elsewhere;
  sizes.same_values = known.same_values && recipe.is_default();  // Another recipe may round otherwise.
  verdict.other_sizes = std::move(sizes);
  return evaluation;
}

}  // namespace kernelift::sandbox
