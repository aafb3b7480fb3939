// See legality.h. Each question gives the parameters for which its answer is no; what remains of all parameters is the
// premise.
#include "core/legality/legality.h"

#include <isl/map.h>
#include <isl/set.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "core/legality/assumptions.h"
#include "core/legality/barriers.h"
#include "core/legality/conclusion.h"
#include "core/legality/conflicts.h"
#include "core/legality/coverage.h"
#include "core/legality/extents.h"
#include "core/legality/index/index_terms.h"
#include "core/legality/isl_context.h"
#include "core/legality/launches.h"
#include "core/legality/sized_side.h"
#include "core/legality/unmodelled.h"
#include "core/legality/widths.h"

namespace kernelift::legality {
namespace {

using Access = KernelModel::Access;
using Object = KernelModel::Object;
using Scope = InstanceText::Scope;

constexpr size_t kMostAccesses = 2000;  ///< Of one kernel.

/// An object in both models; indices into KernelModel::objects, or none.
struct CommonObject {
  std::optional<size_t> original, candidate;
};

/// What accesses to one object touch.
struct Touches {
  std::vector<Touch> each;
  std::vector<Touch> runs;  ///< The same of joined_accesses(); may be empty.
  bool one_by_one() const { return runs.empty() || runs.size() == each.size(); }  ///< No access stands for several.
  const std::vector<Touch>& shortest() const { return runs.empty() ? each : runs; }
};

std::vector<const Access*> accesses_of(const KernelModel& model, std::optional<size_t> object) {
  std::vector<const Access*> found;
  for (auto& access : model.accesses)
    if (object && access.object == *object) found.push_back(&access);
  return found;
}

class Comparison {
 public:
  Comparison(isl::ctx context, const Side& original, const Side& candidate, const Names& names)
      : setting_{context, original, candidate, names, {}, {}, {}, {}}, original_(original), candidate_(candidate) {}

  /// The widest alignment of the candidate's accesses to each argument that the original does not need, wherever the
  /// launch lets them be made; asked after answer().
  std::map<std::string, uint64_t> new_alignments() {
    std::map<std::string, uint64_t> widest;
    for (auto& access : candidate_.model.accesses) {
      auto& object = candidate_.model.objects[access.object];
      if (object.kind != Object::Kind::Argument || access.alignment <= 1) continue;
      isl::set left = launches_with(candidate_, access, /*at_least=*/true);
      for (auto& other : original_.model.accesses) {
        auto& same = original_.model.objects[other.object];
        if (left.is_null() || is_empty(left)) break;
        if (same.kind == object.kind && same.name == object.name && other.alignment >= access.alignment)
          left = left.subtract(launches_with(original_, other, /*at_least=*/false));
      }
      if (left.is_null() || !is_empty(left))
        widest[object.name] = std::max<uint64_t>(widest[object.name], access.alignment);
    }
    return widest;
  }

  /// What is not known of reads alone; asked after answer().
  const std::optional<Answer>& reads_not_known() const { return reads_not_known_; }

  Answer answer() {
    if (std::string why = refusal(); !why.empty()) return not_known(why, 0);
    Findings grids = launched(setting_);
    if (!grids.not_known.empty()) return not_known(grids.not_known, 0);
    const size_t of_grids = grids.wrong.size();
    wrong_ = std::move(grids.wrong);
    for (auto& strays : {beyond_extents(setting_, original_), misaligned(setting_, original_)}) {
      if (!strays) return too_much();
      for (auto& one : strays->wrong) setting_.asked = setting_.asked.subtract(one.parameters);
    }
    if (!note(ask_where_the_original_fits(setting_))) return too_much();
    if (is_empty(setting_.asked)) return not_known("for no size is it known that the original stays in its memory", 0);
    writes_ = setting_.asked.subtract(setting_.asked);
    // What is surely wrong for all sizes decides, whatever else is not understood.
    for (auto& [name, object] : common_objects())
      if (!compare(object)) return too_much();
    if (!note(beyond_extents(setting_, candidate_)) || !note(misaligned(setting_, candidate_)) || !compare_barriers())
      return too_much();
    note_lanes(), note(undeclared_alignment(setting_));
    if (!check_shared()) return too_much();
    // Where something else is not known, that a number may overflow refutes nothing.
    if (!failed_ && !note(beyond_width(setting_))) return too_much();
    if (setting_.asked.is_null()) return too_much();
    if (!failed_) return conclude(setting_, wrong_, writes_, leaves_rows_);
    failed_->may_race = may_race_;
    // No premise can be proven; an example refutes nevertheless.
    wrong_.erase(wrong_.begin(), wrong_.begin() + of_grids);
    Answer sure = wrong_.empty() ? *failed_ : conclude(setting_, wrong_, writes_, leaves_rows_);
    if (sure.kind == Answer::Kind::NotKnown || (sure.example.empty() && sure.kind != Answer::Kind::Refuted))
      return *failed_;
    return {Answer::Kind::Refuted, {}, sure.why, sure.line, sure.example};
  }

 private:
  /// Sizes for which some thread makes the access: at least those, or none that are not known to be.
  isl::set launches_with(const Side& side, const Access& access, bool at_least) {
    InstanceText text(side.launch, setting_.parameters, Scope::Grid);
    text.constrain(access.domain);
    const isl::set made(setting_.context, "[" + text.parameter_list() + "] -> { [" + text.dimensions() +
                                              "] : " + text.constraints() + " }");
    const isl::set sizes = made.params().intersect(setting_.asked);
    return at_least || (text.exact() && !text.uses_terms()) ? sizes : sizes.subtract(sizes);
  }

  std::string refusal() const {
    for (auto* side : {&original_, &candidate_}) {
      if (!side->model.gaps.empty())
        return side->model.gaps[0].what + at_line(side->model.gaps[0].line) +
               (side == &original_ ? " of the original" : "");
      if (side->model.accesses.size() > kMostAccesses) return "it has more accesses than can be compared";
    }
    return unmodelled_difference(original_, candidate_, setting_.names);
  }

  std::map<std::string, CommonObject> common_objects() const {
    std::map<std::string, CommonObject> objects;
    auto add = [&](const KernelModel& model, std::optional<size_t> CommonObject::* which) {
      for (size_t i = 0; i < model.objects.size(); ++i) {
        const auto kind = model.objects[i].kind;
        if (kind == Object::Kind::Argument || kind == Object::Kind::Variable) objects[model.objects[i].name].*which = i;
      }
    };
    add(original_.model, &CommonObject::original), add(candidate_.model, &CommonObject::candidate);
    return objects;
  }

  std::optional<std::vector<Touch>> touches(const Side& side, const std::vector<const Access*>& accesses,
                                            const Shape& shape, Scope scope) {
    std::vector<Touch> all;
    for (auto* access : accesses) {
      all.emplace_back(setting_, side, *access, shape, scope);
      if (all.back().elements().is_null() || all.back().leaves_row().is_null()) return std::nullopt;
    }
    return all;
  }

  /// The touches of joined accesses; empty: nothing is joined, or isl gave up.
  std::vector<Touch> touches_of_runs(const Side& side, const std::vector<const Access*>& accesses, const Shape& shape) {
    auto& runs = runs_.emplace_back(joined_accesses(accesses, side.launch.block));
    if (runs.empty()) return {};
    std::vector<const Access*> all;
    for (auto& run : runs) all.push_back(&run);
    auto touched = touches(side, all, shape, Scope::Grid);
    return touched ? std::move(*touched) : std::vector<Touch>();
  }

  /// Stores and atomic operations: a sum that all threads add to may be stored by one of them.
  static std::vector<Touch> writes_of(const std::vector<Touch>& all) {
    std::vector<Touch> chosen;
    for (auto& one : all)
      if (one.access().kind != Access::Kind::Load) chosen.push_back(one);
    return chosen;
  }
  static Touches writes_of(const Touches& all) { return {writes_of(all.each), writes_of(all.runs)}; }

  // Each of these is false if isl gave up.
  bool compare(const CommonObject& object) {
    auto of_original = accesses_of(original_.model, object.original);
    auto of_candidate = accesses_of(candidate_.model, object.candidate);
    std::vector<const Access*> both = of_original;
    both.insert(both.end(), of_candidate.begin(), of_candidate.end());
    const std::string name = setting_.shown(object.candidate ? candidate_.model.objects[*object.candidate]
                                                             : original_.model.objects[*object.original]);
    const Shape shape = common_shape(both);
    const bool own = !object.original && candidate_.model.objects[*object.candidate].own;
    const bool only_read = std::ranges::all_of(both, [](auto* access) { return access->kind == Access::Kind::Load; });
    const unsigned line = of_candidate.empty() ? 0 : of_candidate[0]->line;
    if (!shape.trouble.empty() && (!shape.crossing || own))
      return fail(name + at_line(line) + ": " + shape.trouble, line), true;
    note_operations(of_original, of_candidate, name);
    auto theirs = touches(original_, of_original, shape, Scope::Grid);
    auto ours = touches(candidate_, of_candidate, shape, Scope::Grid);
    if (!theirs || !ours) return false;
    const Touches all_theirs{std::move(*theirs), touches_of_runs(original_, of_original, shape)};
    const Touches all_ours{std::move(*ours), touches_of_runs(candidate_, of_candidate, shape)};
    // Equal subscripts are equal elements, in a row or not: enough where nothing writes the object, or where nothing
    // orders the original's threads, and each has one element: if two are one, two threads meet, in no known order.
    const bool rows = shape.crossing || leaves_row(all_theirs.each) || leaves_row(all_ours.each);
    const bool atomic = std::ranges::any_of(both, [](auto* one) { return one->kind == Access::Kind::Atomic; });
    const bool apart = rows && !atomic && original_.model.barriers.empty();
    const bool by_subscripts = !own && (only_read || (apart && one_element_a_thread(all_theirs.each)));
    if (shape.crossing && !by_subscripts) return fail(name + at_line(line) + ": " + shape.trouble, line), true;
    if (!by_subscripts && (!note_rows(all_theirs.each, name) || !note_rows(all_ours.each, name))) return false;
    const size_t before = wrong_.size(), subscripts = shape.strides.size();
    if (only_read && !own) {
      if (!note(not_covered(all_ours, all_theirs, subscripts, {name, "which the original does not touch", true})) ||
          !compare_reads(all_theirs, all_ours, subscripts, name))
        return false;
    } else if (!compare_touches(all_theirs, all_ours, subscripts, own, name)) {
      return false;
    }
    return !by_subscripts || wrong_.size() == before || limit_examples(before, all_theirs, all_ours, shape, name);
  }

  /// Of an object that is written.
  bool compare_touches(const Touches& theirs, const Touches& ours, size_t subscripts, bool own,
                       const std::string& name) {
    for (auto& one : theirs.each)
      if (one.access().kind != Access::Kind::Load) writes_ = writes_.unite(one.elements().params());
    // What no other kernel can see does not have to hold what the original would leave there.
    if (own) return compare_conflicts(theirs.each, ours, subscripts, name);
    auto covered = [&](const Touches& touched, const Touches& allowed, const char* which, bool of_candidate) {
      return note(not_covered(touched, allowed, subscripts, {name, which, of_candidate}));
    };
    if (!covered(ours, theirs, "which the original does not touch", true)) return false;
    auto original = writes_of(theirs), candidate = writes_of(ours);
    if (!covered(candidate, original, "which the original does not write", true) ||
        !covered(original, candidate, "as the original, and the candidate does not", false))
      return false;
    if (original.each.empty() && !compare_reads(theirs, ours, subscripts, name)) return false;
    return compare_conflicts(theirs.each, ours, subscripts, name);
  }

  /// In an example of what was found wrong since `first`, different subscripts have to be different elements.
  bool limit_examples(size_t first, const Touches& theirs, const Touches& ours, const Shape& shape,
                      const std::string& name) {
    const Wrong elsewhere = std::exchange(leaves_rows_, {});
    const bool noted = note_rows(theirs.each, name) && note_rows(ours.each, name);
    for (size_t i = first; i < wrong_.size(); ++i)
      wrong_[i].no_example = shape.crossing ? setting_.asked : leaves_rows_.parameters;
    leaves_rows_ = elsewhere;
    return noted;
  }

  bool leaves_row(const std::vector<Touch>& all) const {
    return std::ranges::any_of(all, [&](auto& one) { return !is_empty(one.leaves_row().intersect(setting_.asked)); });
  }

  /// Where both change an object by atomic operations, the candidate has none that the original does not have.
  void note_operations(const std::vector<const Access*>& theirs, const std::vector<const Access*>& ours,
                       const std::string& name) {
    std::set<std::string> known;
    for (auto* access : theirs)
      if (!access->operation.empty()) known.insert(access->operation);
    for (auto* access : ours)
      if (!known.empty() && !access->operation.empty() && !known.contains(access->operation))
        fail("it changes " + name + at_line(access->line) + " by another atomic operation than the original",
             access->line);
  }

  /// Runs are enough for a proof; what an access does that it should not is said of the access.
  std::optional<Findings> not_covered(const Touches& touched, const Touches& allowed, size_t subscripts,
                                      const CoverageWords& words) {
    const bool any = !touched.runs.empty() || !allowed.runs.empty();
    if (any && touched.one_by_one() && allowed.one_by_one()) {
      CoverageWords placed = words;
      placed.placed = &touched.each;
      auto found = uncovered(setting_, touched.shortest(), allowed.shortest(), subscripts, placed);
      if (!found || found->not_known.empty()) return found;
    }
    if (covered_by_shifts(setting_, touched.each, allowed.each, subscripts)) return Findings();
    if (any) {
      auto found = uncovered(setting_, touched.shortest(), allowed.shortest(), subscripts, words);
      if (!found || (found->wrong.empty() && found->not_known.empty())) return found;
    }
    return uncovered(setting_, touched.each, allowed.each, subscripts, words);
  }

  /// Of an input: what the candidate no longer reads may be a term that it lost.
  bool compare_reads(const Touches& theirs, const Touches& ours, size_t subscripts, const std::string& name) {
    auto lost = not_covered(theirs, ours, subscripts, {name, "as the original, and the candidate does not", false});
    if (!lost) return false;
    for (auto& one : lost->wrong) one.may_be_right = true, wrong_.push_back(std::move(one));
    if (!lost->not_known.empty() && !reads_not_known_) reads_not_known_ = not_known(lost->not_known, lost->line);
    return true;
  }

  /// Where an index leaves its row, subscripts say nothing about elements.
  bool note_rows(const std::vector<Touch>& all, const std::string& name) {
    for (auto& one : all) {
      isl::set leaves = one.leaves_row().intersect(setting_.asked);
      if (leaves.is_null()) return false;
      if (is_empty(leaves)) continue;
      const unsigned line = one.access().line;
      if (!one.exact()) {
        fail("whether " + name + at_line(line) + " stays in its row depends on " + one.reason(), line);
        continue;
      }
      auto& rows = leaves_rows_;
      rows.parameters = rows.parameters.is_null() ? leaves : rows.parameters.unite(leaves);
      if (rows.what.empty()) rows.what = name + at_line(line) + " is indexed beyond the end of a row", rows.line = line;
    }
    return true;
  }

  /// Barriers may say in which order an element's sums are added, and with it how they are rounded. False: isl gave up.
  bool compare_order_of_sums(const std::vector<Touch>& theirs, const std::vector<Touch>& ours, size_t subscripts,
                             const std::string& name) {
    auto sums_of = [](const std::vector<Touch>& all) {
      std::vector<Touch> sums;
      for (auto& one : all)
        if (rounds(one.access())) sums.push_back(one);
      return sums;
    };
    const auto before = sums_of(theirs), after = sums_of(ours);
    if (before.empty() || after.empty()) return true;
    const auto original = conflicts(setting_, original_, before, subscripts, Scope::Grid, Order::Counts);
    const auto candidate = conflicts(setting_, candidate_, after, subscripts, Scope::Grid, Order::Counts);
    if (!original || !candidate) return false;
    bool added = false;
    for (auto& one : *candidate) {
      isl::map rest = one.pairs;
      for (auto& other : *original)
        if (other.a->terms() == one.a->terms() && other.b->terms() == one.b->terms())
          rest = rest.subtract(other.unordered).subtract(other.unordered.reverse());
      if (rest.is_null()) return false;
      // Where values in memory say which elements meet, the original's do as well.
      added |= one.a->terms().empty() && one.b->terms().empty() ? !is_empty(rest.params()) : original->empty();
    }
    if (added)
      fail(
          "the original adds to " + name + " in one order, the candidate" + at_line(after[0].access().line) + " in any",
          after[0].access().line);
    return true;
  }

  bool compare_conflicts(const std::vector<Touch>& theirs, const Touches& touches, size_t subscripts,
                         const std::string& name) {
    auto& ours = touches.each;
    if (!compare_order_of_sums(theirs, ours, subscripts, name)) return false;
    if (!touches.runs.empty()) {
      auto found = conflicts(setting_, candidate_, touches.runs, subscripts, Scope::Grid);
      if (!found || found->empty()) return found.has_value();
    }
    auto found = conflicts(setting_, candidate_, ours, subscripts, Scope::Grid);
    if (!found) return false;
    if (found->empty()) return true;
    // Where two threads of the original meet in the same elements, it is one of its own habits: a flag that all set.
    auto original = conflicts(setting_, original_, theirs, subscripts, Scope::Grid);
    if (!original) return false;
    for (auto& one : *found) {
      isl::map added = one.pairs, other_values = one.pairs;
      for (auto& other : *original)
        for (bool turned : {false, true}) {
          auto &a = turned ? other.b : other.a, &b = turned ? other.a : other.b;
          if (!other.a->exact() || !other.b->exact() || a->access().kind != one.a->access().kind ||
              b->access().kind != one.b->access().kind || a->terms() != one.a->terms() || b->terms() != one.b->terms())
            continue;
          const isl::map theirs = turned ? other.unordered.reverse() : other.unordered;
          added = added.subtract(theirs);
          if (!one.certain || leave_the_same(original_, candidate_, one, *a, *b))
            other_values = other_values.subtract(theirs);
        }
      if (added.is_null() || other_values.is_null()) return false;
      isl::set parameters = added.params();
      if (!is_empty(parameters)) {
        judge_conflict(one, parameters, name);
        // Whatever the values are, no two threads of the original meet where it stores, too.
        const bool apart = original->empty() && !writes_of(theirs).empty();
        if (may_race_.empty() && !one.certain && apart && chosen_by_memory(one)) may_race_ = meeting(one, name);
      } else if (one.certain && !is_empty(other_values.params()))
        fail("threads store to one element of " + name + at_line(one.b->access().line) +
                 ", as in the original, and whether the same is not known",
             one.b->access().line);
    }
    return true;
  }

  void judge_conflict(const Conflict& conflict, const isl::set& parameters, const std::string& name) {
    // Barriers of warps order what this comparison does not see.
    const bool warps = std::ranges::any_of(candidate_.model.barriers,
                                           [](auto& barrier) { return barrier.of_warp && barrier.orders_memory; });
    const auto [what, line] = std::pair(meeting(conflict, name), conflict.b->access().line);
    if (!conflict.certain || warps)
      fail("whether " + what + (warps ? ", is ordered by a warp's barriers" : ", depends on values in memory"), line);
    else wrong_.push_back({parameters, what + ", without a barrier between", line});
  }

  bool compare_barriers() {
    auto found = divergent_barriers(setting_, candidate_);
    if (!found) return false;
    if (found->wrong.empty()) return note(std::move(found));
    auto original = divergent_barriers(setting_, original_);
    if (!original) return false;
    for (auto& one : found->wrong) {
      isl::set added = one.parameters;
      for (auto& other : original->wrong) added = added.subtract(other.parameters);
      if (added.is_null()) return false;
      if (is_empty(added)) fail(one.what + ", nor do those of the original", one.line);
      else wrong_.push_back(one);
    }
    found->wrong.clear();
    return note(std::move(found));
  }

  /// Lanes that an operation of the whole warp names reach it together, or as they do in the original.
  void note_lanes() {
    for (auto& ours : candidate_.model.barriers) {
      const auto variables = ours.domain.variables();
      auto alike = [&](const KernelModel::Barrier& theirs) {
        return std::ranges::none_of(variables, [](auto& name) { return name.starts_with("term."); }) &&
               theirs.of_warp && theirs.apart == ours.apart && (ours.apart || !ours.lanes.empty()) &&
               theirs.lanes == ours.lanes && theirs.domain == ours.domain && theirs.counters == ours.counters;
      };
      const bool as_before =
          original_.launch.block == candidate_.launch.block && std::ranges::any_of(original_.model.barriers, alike);
      if (ours.of_warp && !as_before && !reached_by_all_lanes(setting_, candidate_, ours))
        fail("whether all lanes of a warp reach its operation" + at_line(ours.line) + " is not understood", ours.line);
    }
  }

  /// Whatever name it has, there is one dynamic one.
  static bool same_shared(const Object& one, const Object& other) {
    return one.bytes || other.bytes ? one.shown == other.shown : true;
  }

  bool check_shared() {
    for (size_t i = 0; i < candidate_.model.objects.size(); ++i) {
      if (candidate_.model.objects[i].kind != Object::Kind::Shared) continue;
      if (!candidate_.model.objects[i].bytes && !compare_dynamic(i)) return false;
      auto found = shared_conflicts(candidate_, i);
      if (!found) return !isl_failed_;
      if (!note_rows(found->touches, setting_.shown(candidate_.model.objects[i]))) return false;
      std::optional<bool> original_races;
      for (auto& one : found->all) {
        if (!original_races) {
          original_races = false;
          for (size_t j = 0; j < original_.model.objects.size(); ++j)
            if (original_.model.objects[j].kind == Object::Kind::Shared &&
                same_shared(original_.model.objects[j], candidate_.model.objects[i])) {
              auto theirs = shared_conflicts(original_, j);
              if (!theirs && isl_failed_) return false;
              *original_races |= !theirs || !theirs->all.empty();
            }
        }
        const std::string name = setting_.shown(candidate_.model.objects[i]);
        if (*original_races)
          fail("threads of a block write and read " + name + at_line(one.b->access().line) +
                   " without a barrier between, perhaps as in the original",
               one.b->access().line);
        else judge_conflict(one, one.pairs.params(), name);
      }
    }
    return true;
  }

  /// The extent of dynamic shared memory is the launch's: what the original's block touches is inside.
  bool compare_dynamic(size_t object) {
    auto& ours = candidate_.model.objects[object];
    auto theirs = std::ranges::find_if(original_.model.objects,
                                       [&](auto& other) { return other.kind == Object::Kind::Shared && !other.bytes; });
    auto accesses = accesses_of(candidate_.model, object), before = std::vector<const Access*>();
    if (theirs != original_.model.objects.end())
      before = accesses_of(original_.model, size_t(theirs - original_.model.objects.begin()));
    auto both = accesses;
    both.insert(both.end(), before.begin(), before.end());
    const Shape shape = common_shape(both);
    const unsigned line = accesses.empty() ? 0 : accesses[0]->line;
    if (!shape.trouble.empty()) return fail(setting_.shown(ours) + at_line(line) + ": " + shape.trouble, line), true;
    auto mine = touches(candidate_, accesses, shape, Scope::Block),
         other = touches(original_, before, shape, Scope::Block);
    auto beyond = mine && other
                      ? uncovered(setting_, *mine, *other, shape.strides.size(), {setting_.shown(ours), "", true})
                      : std::nullopt;
    if (!beyond) return false;
    if (!beyond->wrong.empty() || !beyond->not_known.empty())
      fail("whether " + setting_.shown(ours) + at_line(line) + " stays inside depends on the launch's shared memory",
           line);
    return true;
  }

  struct SharedConflicts {
    std::vector<Touch> touches;
    std::vector<Conflict> all;
  };

  std::unique_ptr<SharedConflicts> shared_conflicts(const Side& side, size_t object) {
    auto accesses = accesses_of(side.model, object);
    const Shape shape = common_shape(accesses);
    if (!shape.trouble.empty()) {
      fail(setting_.shown(side.model.objects[object]) + at_line(accesses[0]->line) + ": " + shape.trouble,
           accesses[0]->line);
      return nullptr;
    }
    auto found = std::make_unique<SharedConflicts>();
    isl_failed_ = true;
    auto all = touches(side, accesses, shape, Scope::Block);
    if (!all) return nullptr;
    found->touches = std::move(*all);
    auto pairs = conflicts(setting_, side, found->touches, shape.strides.size(), Scope::Block);
    if (!pairs) return nullptr;
    isl_failed_ = false;
    found->all = std::move(*pairs);
    return found;
  }

  bool note(std::optional<Findings> found) {
    if (!found) return false;
    for (auto& one : found->wrong) wrong_.push_back(std::move(one));
    if (!found->not_known.empty()) fail(found->not_known, found->line);
    return true;
  }

  void fail(std::string why, unsigned line) {
    if (!failed_) failed_ = not_known(std::move(why), line);
  }
  static Answer not_known(std::string why, unsigned line) {
    return {Answer::Kind::NotKnown, {}, std::move(why), line, {}};
  }
  static Answer too_much() { return not_known("comparing its accesses takes too many steps", 0); }

  Setting setting_;
  const Side &original_, &candidate_;
  std::deque<std::vector<Access>> runs_;
  isl::set writes_;
  std::vector<Wrong> wrong_;
  Wrong leaves_rows_;
  bool isl_failed_ = false;
  std::string may_race_;
  std::optional<Answer> failed_, reads_not_known_;
};

/// What both sides do is the same, whatever it is: code and launch are. No index has to be understood for that.
std::optional<Answer> same_code(const Side& original, const Side& candidate) {
  auto &before = original.model, &after = candidate.model;
  if (before.whole_code.empty() || before.whole_code != after.whole_code || before.unmodelled != after.unmodelled ||
      original.launch.block != candidate.launch.block || original.launch.grid != candidate.launch.grid)
    return std::nullopt;
  Answer answer{Answer::Kind::Proven, {}, "", 0, {}};
  if (before.needs_different_memory || after.needs_different_memory)
    answer.assumptions = assumptions(original, candidate);
  answer.same_values = true;
  return answer;
}

}  // namespace

Answer compare_memory(const Side& original, const Side& candidate, const Names& given, Bounds bounds) {
  if (auto same = same_code(original, candidate)) return *same;
  const Names names = with_members(given, original.model.members);
  std::optional<Answer> reads_not_known;
  const double begin = thread_seconds();
  auto left = [&] { return bounds.seconds - (thread_seconds() - begin); };
  auto is_proof = [&](const Answer& answer) {
    return (answer.kind == Answer::Kind::Proven || answer.kind == Answer::Kind::UnderPremise) && !reads_not_known;
  };
  auto compare = [&](const Side& one, const Side& other, unsigned long most) {
    BoundedContext context(most, left(), bounds.stop);
    Comparison comparison(context.get(), one, other, names);
    Answer answer = comparison.answer();
    reads_not_known = comparison.reads_not_known();
    if (is_proof(answer)) answer.assumptions = assumptions(original, candidate, comparison.new_alignments());
    return answer;
  };
  Answer answer = compare(original, candidate, bounds.operations);
  const auto reads = reads_not_known;
  if (is_proof(answer)) return answer;
  if (answer.kind == Answer::Kind::Refuted) return answer;
  // Outside of a premise a size proves nothing against it.
  const bool may_be_refuted = answer.kind != Answer::Kind::UnderPremise;
  if (answer.kind != Answer::Kind::NotKnown) answer = *reads;
  if (!original.model.complete() || !candidate.model.complete()) return answer;
  const auto before = with_index_terms(original.model), after = with_index_terms(candidate.model);
  if (before && after && left() > 0) {
    Answer by_terms = compare({*before, original.launch}, {*after, candidate.launch}, bounds.operations / 2);
    if (is_proof(by_terms)) return by_terms;
  }
  if (!may_be_refuted) return answer;
  // With numbers for the parameters nearly everything is affine: some size may refute what no size can prove.
  for (auto& sizes : trial_sizes(original, candidate)) {
    if (left() <= 0 || bounds.stop.stop_requested()) break;
    const SizedSide one(original, sizes), other(candidate, sizes);
    Answer sized = compare(one.side(), other.side(), bounds.operations / 2);
    if (sized.kind != Answer::Kind::Refuted) continue;
    std::string values;
    for (auto& [name, value] : sizes) {
      auto shown = names.find(name);
      values +=
          (values.empty() ? "" : ", ") + (shown == names.end() ? name : shown->second) + " = " + std::to_string(value);
    }
    sized.why = values + (values.empty() ? "" : ": ") + sized.why, sized.example = sizes;
    return sized;
  }
  return answer;
}

}  // namespace kernelift::legality
