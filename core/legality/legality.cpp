// See legality.h. Each question gives a set of parameters for which its answer is no; what remains of all parameters is
// the premise.
#include "core/legality/legality.h"

#include <isl/map.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/set.h>

#include <algorithm>
#include <memory>
#include <set>

#include "core/legality/footprint.h"
#include "core/legality/premise.h"
#include "core/model/launch/limits.h"

namespace kernelift::legality {
namespace {

using Access = KernelModel::Access;
using Object = KernelModel::Object;
using Kind = Answer::Kind;

constexpr size_t kMostAccesses = 2000;      ///< Of one kernel.
constexpr size_t kShortPremiseNodes = 12;   ///< A longer one is replaced by a stronger one that is short.
constexpr size_t kMostPremiseNodes = 60;    ///< A longer condition is no premise that people would accept.

struct FreeContext {
  void operator()(isl_ctx* context) const { isl_ctx_free(context); }
};

bool is_outside(const Object& object) {
  return object.kind == Object::Kind::Argument || object.kind == Object::Kind::Variable;
}

bool empty(const isl::set& set) { return !set.is_null() && set.is_empty().is_true(); }

const char* word(Access::Kind kind) {
  return kind == Access::Kind::Load ? "reads" : kind == Access::Kind::Store ? "writes" : "changes";
}

class Comparison {
 public:
  Comparison(isl::ctx context, const Side& original, const Side& candidate, const Names& names)
      : context_(context), original_(original), candidate_(candidate), names_(names) {}

  Answer answer() {
    if (std::string why = refusal(); !why.empty()) return not_known(why, 0);
    launches_ = launched();
    dropped_ = violations_of_extents(original_);
    if (launches_.is_null() || dropped_.is_null()) return too_much();
    wrong_ = isl::set::empty(launches_.space());
    if (failed_) return *failed_;
    for (auto& [key, object] : shared_objects())
      if (!compare(object)) return failed_ ? *failed_ : too_much();
    if (!check_extents() || !check_barriers() || !check_shared()) return failed_ ? *failed_ : too_much();
    return conclude();
  }

 private:
  struct Wrong {
    isl::set parameters;
    std::string what;  ///< Follows the example's values.
    unsigned line = 0;
  };

  std::string refusal() const {
    for (auto* side : {&original_, &candidate_}) {
      if (!side->model.gaps.empty())
        return side->model.gaps[0].what + at(side->model.gaps[0].line) +
               (side == &original_ ? " of the original" : "");
      if (side->model.accesses.size() > kMostAccesses) return "it has more accesses than can be compared";
    }
    return "";
  }

  static std::string at(unsigned line) { return line == 0 ? "" : " in line " + std::to_string(line); }

  /// Both grids have a size that can be launched.
  isl::set launched() {
    isl::set all(context_, "[] -> { : }");
    for (auto* side : {&original_, &candidate_}) {
      InstanceText text(side->launch, parameters_);
      if (!text.exact()) {
        failed_ = not_known(text.reason() + " is not affine", 0);
        return all;
      }
      std::string bounds;
      for (int axis = 0; axis < 3; ++axis)
        bounds += std::string(" and nctaid_") + "xyz"[axis] + " <= " + std::to_string(along(kLargestGrid, axis));
      isl::set fits(context_, "[" + text.parameter_list() + "] -> { [" + text.dimensions() + "] : " +
                                  text.constraints() + bounds + " }");
      all = all.intersect(fits.params());
    }
    return all;
  }

  std::map<std::string, SharedObject> shared_objects() const {
    std::map<std::string, SharedObject> objects;
    auto add = [&](const KernelModel& model, std::optional<size_t> SharedObject::*which) {
      for (size_t i = 0; i < model.objects.size(); ++i)
        if (is_outside(model.objects[i])) objects[model.objects[i].name].*which = i;
    };
    add(original_.model, &SharedObject::original), add(candidate_.model, &SharedObject::candidate);
    return objects;
  }

  static std::vector<const Access*> accesses_of(const KernelModel& model, std::optional<size_t> object) {
    std::vector<const Access*> found;
    for (auto& access : model.accesses)
      if (object && access.object == *object) found.push_back(&access);
    return found;
  }

  std::vector<Touch> touches(const Side& side, const std::vector<const Access*>& accesses, const Shape& shape) {
    std::vector<Touch> all;
    for (auto* access : accesses) {
      Touch one = touch(context_, side, *access, shape, parameters_, time_length(side.model));
      if (one.elements.is_null() || one.leaves_row.is_null() || one.times.is_null()) {
        failed_ = not_known("the access" + at(access->line) + " is too complex", access->line);
        return {};
      }
      all.push_back(std::move(one));
    }
    return all;
  }

  /// The elements of `from`, in the tuple of `to`: terms that `from` lacks may have any value. Null: `from` depends on a
  /// term that `to` has not.
  isl::set in_tuple_of(const Touch& to, const Touch& from, size_t subscripts) {
    isl::set range = from.elements.range();
    if (to.terms == from.terms) return range;
    std::vector<std::string> target, source;
    for (size_t i = 0; i < subscripts; ++i) target.push_back("s" + std::to_string(i));
    source = target;
    std::vector<std::vector<std::string>> groups;
    for (size_t t = 0; t < to.terms.size(); ++t) {
      std::vector<std::string> group;
      for (long i = 0; i <= std::stol(to.terms[t]); ++i) group.push_back("t" + std::to_string(t) + "_" + std::to_string(i));
      target.insert(target.end(), group.begin(), group.end());
      groups.push_back(std::move(group));
    }
    std::set<size_t> taken;
    for (auto& term : from.terms) {
      size_t t = 0;
      while (t < to.terms.size() && (to.terms[t] != term || taken.contains(t))) ++t;
      if (t == to.terms.size()) return {};
      taken.insert(t);
      source.insert(source.end(), groups[t].begin(), groups[t].end());
    }
    auto list = [](const std::vector<std::string>& words) {
      std::string text;
      for (auto& word : words) text += (text.empty() ? "" : ", ") + word;
      return text;
    };
    return range.apply(isl::map(context_, "{ E[" + list(source) + "] -> E[" + list(target) + "] }"));
  }

  /// Adds the parameters for which some element of `touched` is in none of `allowed`.
  bool covered(const std::vector<Touch>& touched, const std::vector<Touch>& allowed, const Shape& shape,
               const std::string& name, const std::string& which, bool is_candidate) {
    for (auto& one : touched) {
      isl::set rest = one.elements.range();
      bool all_exact = one.exact;
      std::string reason = one.reason;
      for (auto& other : allowed) {
        if (!other.exact) {
          all_exact = false;
          if (reason.empty()) reason = other.reason;
          continue;
        }
        isl::set there = in_tuple_of(one, other, shape.strides.size());
        if (there.is_null()) {
          all_exact = false;
          if (reason.empty()) reason = "a value of its own";
          continue;
        }
        rest = rest.subtract(there);
        if (rest.is_null()) return false;
        if (empty(rest)) break;
      }
      rest = rest.intersect_params(launches_.subtract(dropped_).subtract(wrong_));
      if (rest.is_null()) return false;
      if (empty(rest)) continue;
      if (!all_exact || !one.terms.empty()) {
        failed_ = not_known("whether " + std::string(is_candidate ? "it" : "the original") + " " + word(one.access->kind) +
                                " the same elements of " + name + at(one.access->line) + " depends on " + reason_of(one, reason),
                            one.access->line);
        return false;
      }
      if (!note_wrong(one.elements.intersect_range(rest), *one.access, name, which)) return false;
    }
    return true;
  }

  static std::string reason_of(const Touch& touch, const std::string& reason) {
    return !reason.empty() ? reason : touch.terms.empty() ? "a condition" : touch.terms[0].substr(2);
  }

  /// Pairs of times in one block between which its threads meet at a barrier.
  isl::map meetings(const Side& side) {
    const size_t length = time_length(side.model);
    std::string left = "T[x, y, z", right = left, less, equal;
    for (size_t i = 0; i < length; ++i) {
      const std::string a = "a" + std::to_string(i), b = "b" + std::to_string(i);
      left += ", " + a, right += ", " + b;
      less += (less.empty() ? "(" : " or (") + equal + a + " < " + b + ")";
      equal += a + " = " + b + " and ";
    }
    isl::map before(context_, "{ " + left + "] -> " + right + "] : " + (less.empty() ? "1 = 0" : less) + " }");
    isl::map meet = before.subtract(before);
    for (auto& barrier : side.model.barriers) {
      if (barrier.of_warp) continue;
      InstanceText text(side.launch, parameters_);
      text.constrain(barrier.domain);
      if (!text.exact()) continue;
      const std::string when = time_tuple(text, barrier.time, length);
      isl::map times(context_, "[" + text.parameter_list() + "] -> { I[" + text.dimensions() + "] -> " + when + " : " +
                                   text.constraints() + " }");
      meet = meet.unite(before.intersect_range(times.range()).apply_range(before));
    }
    return meet;
  }

  /// Two instances of different threads that touch one element, with no barrier between them.
  isl::map conflicts(const Touch& a, const Touch& b, size_t subscripts, const isl::map& meet, bool in_block) {
    isl::map left = a.elements, right = b.elements;
    if (a.terms != b.terms) {
      // Whatever the terms are, the subscripts decide.
      left = isl::manage(isl_map_project_out(left.release(), isl_dim_out, subscripts,
                                             isl_map_dim(a.elements.get(), isl_dim_out) - subscripts));
      right = isl::manage(isl_map_project_out(right.release(), isl_dim_out, subscripts,
                                              isl_map_dim(b.elements.get(), isl_dim_out) - subscripts));
    }
    isl::map pairs = left.apply_range(right.reverse());
    if (pairs.is_null()) return pairs;
    isl::map different = isl::map::empty(pairs.space());
    for (auto& name : a.threads) {
      const int from = isl_map_find_dim_by_name(a.elements.get(), isl_dim_in, name.c_str());
      const int to = isl_map_find_dim_by_name(b.elements.get(), isl_dim_in, name.c_str());
      if (from < 0 || to < 0) continue;
      if (in_block && !name.starts_with("tid_")) continue;
      different = different.unite(pairs.order_lt(isl::dim::in, from, isl::dim::out, to));
      isl::map greater = isl::manage(isl_map_order_gt(pairs.copy(), isl_dim_in, from, isl_dim_out, to));
      different = different.unite(greater);
    }
    for (const char* block : {"bid_x", "bid_y", "bid_z"}) {
      if (!in_block) break;
      const int from = isl_map_find_dim_by_name(a.elements.get(), isl_dim_in, block);
      const int to = isl_map_find_dim_by_name(b.elements.get(), isl_dim_in, block);
      if (from >= 0 && to >= 0) different = different.equate(isl::dim::in, from, isl::dim::out, to);
    }
    if (different.is_null() || different.is_empty().is_true() || meet.is_empty().is_true()) return different;
    isl::map meet_between = a.times.apply_range(meet).apply_range(b.times.reverse());
    isl::map or_the_other_way = a.times.apply_range(meet.reverse()).apply_range(b.times.reverse());
    return different.subtract(meet_between).subtract(or_the_other_way);
  }

  struct Conflict {
    isl::set parameters;
    std::string what;  ///< Empty: none.
    unsigned line = 0;
    bool certain = true;
  };

  /// Where two threads of the side conflict in an object.
  std::optional<Conflict> conflicting(const Side& side, const std::vector<Touch>& all, const Shape& shape,
                                      bool in_block) {
    Conflict found{isl::set::empty(launches_.space()), {}, 0, true};
    std::optional<isl::map> meet;
    for (size_t i = 0; i < all.size(); ++i)
      for (size_t j = i; j < all.size(); ++j) {
        auto &a = all[i], &b = all[j];
        if (a.access->kind == Access::Kind::Load && b.access->kind == Access::Kind::Load) continue;
        if (a.access->kind == Access::Kind::Atomic && b.access->kind == Access::Kind::Atomic) continue;
        if (!meet) meet = meetings(side);
        isl::map pairs = conflicts(a, b, shape.strides.size(), *meet, in_block);
        if (pairs.is_null()) return std::nullopt;
        isl::set parameters = pairs.params().intersect(launches_).subtract(dropped_).subtract(wrong_);
        if (parameters.is_null()) return std::nullopt;
        if (empty(parameters)) continue;
        if (found.what.empty()) {
          found.line = b.access->line;
          found.what = std::string("one thread ") + word(a.access->kind) + at(a.access->line) + " what another " +
                       word(b.access->kind) + at(b.access->line);
        }
        found.certain &= a.exact && b.exact && !a.strides && !b.strides && a.terms.empty() && b.terms.empty();
        found.parameters = found.parameters.unite(parameters);
      }
    return found;
  }

  bool compare(const SharedObject& object) {
    auto of_original = accesses_of(original_.model, object.original);
    auto of_candidate = accesses_of(candidate_.model, object.candidate);
    std::vector<const Access*> both = of_original;
    both.insert(both.end(), of_candidate.begin(), of_candidate.end());
    const std::string name = shown_object(object);
    const Shape shape = common_shape(both);
    if (!shape.trouble.empty()) {
      const unsigned line = of_candidate.empty() ? 0 : of_candidate[0]->line;
      failed_ = not_known(name + at(line) + ": " + shape.trouble, line);
      return false;
    }
    auto theirs = touches(original_, of_original, shape), ours = touches(candidate_, of_candidate, shape);
    if (failed_) return false;
    // Where an index leaves its row, subscripts say nothing about elements.
    for (auto* side : {&theirs, &ours})
      for (auto& one : *side) {
        isl::set leaves = one.leaves_row.intersect(launches_).subtract(dropped_);
        if (leaves.is_null()) return false;
        if (empty(leaves)) continue;
        if (!one.exact) {
          failed_ = not_known("whether " + name + at(one.access->line) + " stays in its row depends on " + one.reason,
                              one.access->line);
          return false;
        }
        row_premise_ = row_premise_.is_null() ? leaves : row_premise_.unite(leaves);
        if (row_text_.empty())
          row_text_ = name + at(one.access->line) + " is indexed beyond the end of a row", row_line_ = one.access->line;
      }
    auto writes = [](std::vector<Touch>& all, Access::Kind kind) {
      std::vector<Touch> chosen;
      for (auto& one : all)
        if (one.access->kind == kind) chosen.push_back(one);
      return chosen;
    };
    if (!covered(ours, theirs, shape, name, "which the original does not touch", true)) return false;
    for (auto kind : {Access::Kind::Store, Access::Kind::Atomic}) {
      auto original = writes(theirs, kind), candidate = writes(ours, kind);
      const bool stores = kind == Access::Kind::Store;
      if (!covered(candidate, original, shape, name,
                   stores ? "which the original does not write" : "which the original does not change", true))
        return false;
      if (!covered(original, candidate, shape, name,
                   stores ? "as the original, and the candidate does not"
                          : "as the original by an atomic operation, and the candidate does not",
                   false))
        return false;
    }
    return compare_conflicts(theirs, ours, shape, name);
  }

  bool compare_conflicts(const std::vector<Touch>& theirs, const std::vector<Touch>& ours, const Shape& shape,
                         const std::string& name) {
    auto found = conflicting(candidate_, ours, shape, /*in_block=*/false);
    if (!found) return false;
    if (found->what.empty()) return true;
    // Where two threads of the original do so as well, it is one of its own habits (a flag that all of them set).
    auto original = conflicting(original_, theirs, shape, /*in_block=*/false);
    if (!original) return false;
    isl::set added = found->parameters.subtract(original->parameters);
    if (added.is_null()) return false;
    if (empty(added)) return true;
    return judge_conflict(*found, added, name);
  }

  /// Barriers of warps order what this comparison does not see.
  bool judge_conflict(const Conflict& conflict, const isl::set& parameters, const std::string& name) {
    const bool warps = std::ranges::any_of(candidate_.model.barriers, &KernelModel::Barrier::of_warp);
    if (!conflict.certain || warps) {
      failed_ = not_known("whether " + conflict.what + ", in " + name +
                              (warps ? ", is ordered by a warp's barriers" : ", depends on values in memory"),
                          conflict.line);
      return false;
    }
    return remember({parameters, conflict.what + ", in " + name + ", without a barrier between", conflict.line});
  }

  bool check_shared() {
    for (size_t i = 0; i < candidate_.model.objects.size(); ++i) {
      auto& object = candidate_.model.objects[i];
      if (object.kind != Object::Kind::Shared) continue;
      auto accesses = accesses_of(candidate_.model, i);
      const Shape shape = common_shape(accesses);
      const std::string name = shown_name(object);
      if (!shape.trouble.empty()) {
        failed_ = not_known(name + at(accesses[0]->line) + ": " + shape.trouble, accesses[0]->line);
        return false;
      }
      auto all = touches(candidate_, accesses, shape);
      if (failed_) return false;
      auto found = conflicting(candidate_, all, shape, /*in_block=*/true);
      if (!found) return false;
      if (!found->what.empty() && !judge_conflict(*found, found->parameters, name)) return false;
    }
    return true;
  }

  /// Parameters for which an access leaves an array of fixed extent.
  isl::set violations_of_extents(const Side& side) {
    isl::set all(context_, "[] -> { : 1 = 0 }");
    violations_of_extents_found_.clear();
    for (auto& access : side.model.accesses) {
      auto& object = side.model.objects[access.object];
      if (!object.bytes) continue;
      InstanceText text(side.launch, parameters_);
      text.constrain(access.domain);
      auto offset = text.affine(access.offset);
      if (!offset) {
        if (&side == &candidate_ && !failed_)
          failed_ = not_known("whether " + shown_name(object) + at(access.line) + " stays inside: its index is " +
                                  shown(access.offset),
                              access.line);
        continue;
      }
      isl::set bad(context_, "[" + text.parameter_list() + "] -> { [" + text.dimensions() + "] : " + text.constraints() +
                                 " and (" + *offset + " < 0 or " + *offset + " > " +
                                 std::to_string(int64_t(*object.bytes) - int64_t(access.bytes)) + ") }");
      isl::set parameters = bad.params();
      if (parameters.is_null()) return {};
      if (empty(parameters)) continue;
      const bool repeats = std::ranges::none_of(access.domain.variables(), [](auto& v) { return v.starts_with("term."); }) &&
                           std::ranges::none_of(access.offset.variables(), [](auto& v) { return v.starts_with("term."); });
      violations_of_extents_found_.push_back({parameters, text.exact() && repeats, &access});
      if (text.exact() && repeats) all = all.unite(parameters);
    }
    return all;
  }

  bool check_extents() {
    isl::set all = violations_of_extents(candidate_);
    if (all.is_null() || failed_) return false;
    for (auto& found : violations_of_extents_found_) {
      isl::set outside = found.parameters.intersect(launches_).subtract(dropped_).subtract(wrong_);
      if (outside.is_null()) return false;
      if (empty(outside)) continue;
      const std::string name = shown_name(candidate_.model.objects[found.access->object]);
      if (!found.certain) {
        failed_ = not_known("whether " + name + at(found.access->line) + " stays inside depends on a value in memory",
                            found.access->line);
        return false;
      }
      if (!remember({outside, std::string("a thread ") + word(found.access->kind) + " beyond the end of " + name +
                                  at(found.access->line),
                     found.access->line}))
        return false;
    }
    return true;
  }

  bool check_barriers() {
    for (auto& barrier : candidate_.model.barriers) {
      if (barrier.of_warp) continue;
      InstanceText text(candidate_.launch, parameters_);
      text.constrain(barrier.domain);
      for (auto& variable : barrier.domain.variables()) {
        if (!variable.starts_with("term.")) continue;
        auto* term = candidate_.model.term(variable);
        const bool uniform = term && term->repeats && std::ranges::none_of(term->arguments, [](auto& argument) {
          return std::ranges::any_of(argument.variables(), [](auto& v) { return v.starts_with("tid."); });
        });
        if (uniform) continue;
        failed_ = not_known("whether all threads reach the barrier" + at(barrier.line) + " depends on " +
                                (term ? term->text : variable),
                            barrier.line);
        return false;
      }
      if (!text.exact()) {
        failed_ = not_known("whether all threads reach the barrier" + at(barrier.line) + " depends on " + text.reason(),
                            barrier.line);
        return false;
      }
      const std::string head = "[" + text.parameter_list() + "] -> ";
      // Blocks, iterations and terms, without the thread.
      auto has = [&](const std::string& word) { return (", " + text.dimensions() + ",").find(", " + word + ",") != std::string::npos; };
      std::string group = "bid_x, bid_y, bid_z";
      for (auto& counter : barrier.counters)
        if (has(isl_name(counter))) group += ", " + isl_name(counter);
      for (auto& variable : barrier.domain.variables())
        if (variable.starts_with("term.") && has(isl_name(variable))) group += ", " + isl_name(variable);
      isl::map some(context_, head + "{ G[" + group + "] -> T[tid_x, tid_y, tid_z] : exists " + others(text, group) +
                                  " : " + text.constraints() + " }");
      auto& block = candidate_.launch.block;
      isl::set threads(context_, "{ T[x, y, z] : 0 <= x < " + std::to_string(block.x) + " and 0 <= y < " +
                                     std::to_string(block.y) + " and 0 <= z < " + std::to_string(block.z) + " }");
      isl::map all = isl::map::from_domain_and_range(some.domain(), threads);
      isl::set divergent = all.subtract(some).params().intersect(launches_).subtract(dropped_).subtract(wrong_);
      if (divergent.is_null()) return false;
      if (empty(divergent)) continue;
      if (!remember({divergent, "some threads of a block do not reach the barrier" + at(barrier.line), barrier.line}))
        return false;
    }
    return true;
  }

  /// The dimensions that are in neither the group nor the thread.
  static std::string others(const InstanceText& text, const std::string& group) {
    std::string names, word, all = text.dimensions() + ", ";
    for (size_t at = 0, next; (next = all.find(", ", at)) != std::string::npos; at = next + 2) {
      word = all.substr(at, next - at);
      if (word.starts_with("tid_") || (", " + group + ",").find(", " + word + ",") != std::string::npos) continue;
      names += (names.empty() ? "" : ", ") + word;
    }
    return names.empty() ? "none" : names;
  }

  bool note_wrong(const isl::map& instances, const Access& access, const std::string& name, const std::string& which) {
    isl::set parameters = instances.params();
    if (parameters.is_null()) return false;
    Wrong wrong{parameters, {}, access.line};
    auto member = small_member(parameters.intersect(launches_));
    wrong.what = "a thread " + std::string(word(access.kind)) + " an element of " + name + at(access.line) + " " + which;
    if (member) {
      isl_map* fixed = instances.copy();
      for (auto& [parameter, value] : *member) {
        const int place = isl_map_find_dim_by_name(fixed, isl_dim_param, parameter.c_str());
        if (place >= 0) fixed = isl_map_fix_si(fixed, isl_dim_param, place, static_cast<int>(value));
      }
      isl_basic_map* one = isl_map_sample(fixed);
      if (one && isl_basic_map_is_empty(one) == isl_bool_false) wrong.what = sentence(one, access, name, which);
      isl_basic_map_free(one);
    }
    return remember(std::move(wrong));
  }

  std::string sentence(__isl_keep isl_basic_map* instance, const Access& access, const std::string& name,
                       const std::string& which) const {
    auto coordinate = [&](isl_dim_type type, int place) {
      isl_val* value = place < 0 ? nullptr : isl_basic_map_plain_get_val_if_fixed(instance, type, place);
      std::string text = value && isl_val_is_int(value) == isl_bool_true ? std::to_string(isl_val_get_num_si(value)) : "?";
      isl_val_free(value);
      return text;
    };
    isl_map* whole = isl_map_from_basic_map(isl_basic_map_copy(instance));
    auto position = [&](const char* prefix, const Dim3& extents) {
      std::string text;
      const int axes = extents.z > 1 ? 3 : extents.y > 1 ? 2 : 1;
      for (int axis = 0; axis < axes; ++axis)
        text += (axis > 0 ? ", " : "") +
                coordinate(isl_dim_in, isl_map_find_dim_by_name(whole, isl_dim_in, (prefix + std::string(1, "xyz"[axis])).c_str()));
      return axes > 1 ? "(" + text + ")" : text;
    };
    const bool flat = !candidate_.launch.grid[1] || candidate_.launch.grid[1]->is_constant(1);
    const Dim3 blocks = flat ? Dim3{2, 1, 1} : Dim3{2, 2, candidate_.launch.grid[2] && candidate_.launch.grid[2]->is_constant(1) ? 1u : 2u};
    std::string text = "thread " + position("tid_", candidate_.launch.block) + " of block " + position("bid_", blocks) +
                       " " + word(access.kind) + " " + name;
    for (int i = 0, count = isl_basic_map_dim(instance, isl_dim_out); i < count; ++i)
      text += "[" + coordinate(isl_dim_out, i) + "]";
    isl_map_free(whole);
    return text + at(access.line) + ", " + which;
  }

  bool remember(Wrong wrong) {
    wrong_ = wrong_.unite(wrong.parameters).coalesce();
    if (wrong_.is_null()) return false;
    if (!first_ || first_->parameters.is_null()) first_ = std::move(wrong);
    return true;
  }

  Answer conclude() {
    isl::set excluded = wrong_;
    if (!row_premise_.is_null()) excluded = excluded.unite(row_premise_);
    isl::set within = launches_.subtract(dropped_);
    isl::set right = within.subtract(excluded).coalesce();
    if (right.is_null()) return too_much();
    if (empty(excluded.intersect(within))) return {Kind::Proven, {}, "", 0, {}};
    Answer result;
    result.kind = Kind::UnderPremise;
    // A product of parameters has values here that it may not have there.
    auto uses_product = [&](const isl::set& set) {
      for (auto& [name, expression] : parameters_) {
        const int place = isl_set_find_dim_by_name(set.get(), isl_dim_param, name.c_str());
        if (!expression.as_variable() && place >= 0 &&
            isl_set_involves_dims(set.get(), isl_dim_param, place, 1) == isl_bool_true)
          return true;
      }
      return false;
    };
    if (first_ && !uses_product(first_->parameters)) {
      auto member = small_member(first_->parameters.intersect(within));
      if (member)
        for (auto& [name, value] : *member)
          if (auto found = parameters_.find(name); found != parameters_.end() && found->second.as_variable())
            result.example[*found->second.as_variable()] = value;
      std::string values;
      for (auto& [name, value] : result.example)
        if (isl_set_involves_dims(wrong_.get(), isl_dim_param,
                                  isl_set_find_dim_by_name(wrong_.get(), isl_dim_param, isl_name(name).c_str()), 1) ==
            isl_bool_true)
          values += (values.empty() ? "" : ", ") + shown(Expression::variable(name)) + " = " + std::to_string(value);
      result.why = (values.empty() ? "" : values + ": ") + first_->what, result.line = first_->line;
    } else if (first_) {
      return not_known("for some values of products of sizes " + first_->what, first_->line);
    } else {
      result.why = row_text_, result.line = row_line_;
    }
    if (empty(right)) {
      result.kind = first_ ? Kind::Refuted : Kind::NotKnown;
      return result;
    }
    result.premise = as_expression(right, within, parameters_);
    if (!result.premise || result.premise->size() > kShortPremiseNodes)
      if (auto simple = remainder_premise(right, within, parameters_)) result.premise = simple;
    if (!result.premise || result.premise->size() > kMostPremiseNodes) {
      result.premise.reset();
      result.kind = first_ ? Kind::Refuted : Kind::NotKnown;
    }
    return result;
  }

  Answer not_known(std::string why, unsigned line) const { return {Kind::NotKnown, {}, std::move(why), line, {}}; }
  Answer too_much() const { return not_known("comparing its accesses takes too many steps", 0); }

  std::string shown(const Expression& expression) const {
    std::map<std::string, Expression> spelled;
    for (auto& [variable, name] : names_)
      if (Expression::is_name(name)) spelled.emplace(variable, Expression::variable(name));
    return expression.substitute(spelled).text();
  }
  std::string shown_name(const Object& object) const {
    auto found = names_.find(object.name);
    return found == names_.end() ? object.name : found->second;
  }
  std::string shown_object(const SharedObject& object) const {
    return shown_name(object.candidate ? candidate_.model.objects[*object.candidate]
                                       : original_.model.objects[*object.original]);
  }

  struct ExtentViolation {
    isl::set parameters;
    bool certain = false;
    const Access* access = nullptr;
  };

  isl::ctx context_;
  const Side &original_, &candidate_;
  const Names& names_;
  Parameters parameters_;
  isl::set launches_, dropped_, wrong_, row_premise_;
  std::vector<ExtentViolation> violations_of_extents_found_;
  std::optional<Wrong> first_;
  std::string row_text_;
  unsigned row_line_ = 0;
  std::optional<Answer> failed_;
};

}  // namespace

Answer compare_memory(const Side& original, const Side& candidate, const Names& names, unsigned long operations) {
  std::unique_ptr<isl_ctx, FreeContext> context(isl_ctx_alloc());
  isl_options_set_on_error(context.get(), ISL_ON_ERROR_CONTINUE);
  isl_ctx_set_max_operations(context.get(), operations);
  return Comparison(isl::ctx(context.get()), original, candidate, names).answer();
}

}  // namespace kernelift::legality
