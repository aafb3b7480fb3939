// See conflicts.h. Times of two accesses and a barrier are compared component by component; most components are numbers
// that decide at once, so that only counters of common loops become constraints.
#include "core/legality/conflicts.h"

#include <isl/map.h>
#include <isl/set.h>

#include <algorithm>
#include <array>
#include <ranges>
#include <set>
#include <string>
#include <string_view>

#include "core/legality/barriers.h"

namespace kernelift::legality {
namespace {

using Kind = KernelModel::Access::Kind;
using Scope = InstanceText::Scope;

constexpr int kThreadComponents = 6, kBlockComponents = 3;  ///< Of the tuple of Touch::placed().
constexpr int kAlongX = 1;                                  ///< Of these the thread's number along x.

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

/// When the first time is before the second; empty: never.
std::string earlier(const std::vector<std::string>& first, const std::vector<std::string>& second) {
  std::string any, equal;
  auto with = [&](const std::string& last) { return "(" + equal + last + ")"; };
  for (size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
    const bool numbers = is_number(first[i]) && is_number(second[i]);
    if (numbers && std::stol(first[i]) > std::stol(second[i])) return any;
    if (numbers && first[i] == second[i]) continue;
    const std::string less = numbers ? "1 = 1" : first[i] + " < " + second[i];
    any += (any.empty() ? "" : " or ") + with(less);
    if (numbers) return any;
    equal += first[i] + " = " + second[i] + " and ";
  }
  return any;
}

std::string numbered(const std::string& prefix, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += (i > 0 ? ", " : "") + prefix + std::to_string(i);
  return text;
}

std::string all_equal(const std::string& a, const std::string& b, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i)
    text += (i > 0 ? " and " : "") + a + std::to_string(i) + " = " + b + std::to_string(i);
  return text;
}

/// A barrier that surely happens, with its times.
struct Meeting {
  std::string dimensions, constraints;
  std::array<std::string, 3> block;
  std::vector<std::string> time;
  std::vector<std::string> thread;  ///< Of a warp's barrier, as in the tuple of Touch::placed(); else empty.
  const KernelModel::Barrier* barrier = nullptr;
};

/// Those barriers of which it is known which threads reach them, and when.
std::vector<Meeting> meetings(Setting& setting, const Side& side, Scope scope) {
  std::vector<Meeting> all;
  for (auto& barrier : side.model.barriers) {
    if (barrier.of_warp && !reached_by_all_lanes(setting, side, barrier)) continue;
    InstanceText text(side.launch, setting.parameters, scope);
    setting.fix_uniform_terms(text, side.model, barrier.domain.variables(), scope);
    text.constrain(barrier.domain);
    Meeting meeting;
    bool timed = true;
    for (auto& component : barrier.time) {
      auto constant = component.as_constant();
      auto counter = component.as_variable() ? text.counter(*component.as_variable()) : std::nullopt;
      timed &= constant || counter;
      meeting.time.push_back(constant ? std::to_string(*constant) : counter ? *counter : "0");
    }
    auto block = text.block();
    if (!timed || !block || !text.exact() || text.uses_terms() || (barrier.of_warp && text.strides())) continue;
    if (barrier.of_warp)
      for (auto part : std::views::split(text.threads(), std::string_view(", ")))
        meeting.thread.emplace_back(part.begin(), part.end());
    meeting.dimensions = text.dimensions(), meeting.constraints = text.constraints(), meeting.block = *block;
    meeting.barrier = &barrier;
    all.push_back(std::move(meeting));
  }
  return all;
}

class Search {
 public:
  Search(Setting& setting, const Side& side, const std::vector<Touch>& touches, size_t subscripts, Scope scope,
         Order order)
      : setting_(setting),
        side_(side),
        touches_(touches),
        subscripts_(subscripts),
        scope_(scope),
        order_(order),
        placed_(touches.size()) {}

  std::optional<std::vector<Conflict>> run() {
    std::vector<Conflict> found;
    for (size_t i = 0; i < touches_.size(); ++i)
      for (size_t j = i; j < touches_.size(); ++j) {
        const Kind a = touches_[i].access().kind, b = touches_[j].access().kind;
        if (a == b && (a == Kind::Load || (a == Kind::Atomic && commute(touches_[i].access(), touches_[j].access()))))
          continue;
        if (scope_ == Scope::Block && always_ordered(touches_[i].access(), touches_[j].access())) continue;
        isl::map pairs = between(i, j);
        if (pairs.is_null()) return std::nullopt;
        if (pairs.is_empty().is_true()) continue;
        auto plain = [](const Touch& touch) {
          return touch.exact() && !touch.strides() && touch.terms_are_inputs() && touch.timed();
        };
        const bool ordered = may_be_ordered(touches_[i], touches_[j]);
        const bool certain =
            !ordered && plain(touches_[i]) && plain(touches_[j]) && !consistent(i, j, pairs).is_empty().is_true();
        isl::map unordered = ordered                                          ? pairs.subtract(pairs)
                             : touches_[i].strides() || touches_[j].strides() ? between(i, j, true)
                                                                              : pairs;
        if (unordered.is_null()) return std::nullopt;
        found.push_back({&touches_[i], &touches_[j], pairs, certain, unordered});
        // Within a block nothing excuses it: what is wrong for all sizes needs no more.
        if (scope_ == Scope::Block && certain &&
            is_empty(setting_.parameters_of(setting_.asked).subtract(setting_.parameters_of(pairs.params()))))
          return found;
      }
    return found;
  }

 private:
  /// In whatever order two atomic operations come, they leave the same.
  bool commute(const KernelModel::Access& a, const KernelModel::Access& b) const {
    if (order_ == Order::Counts && rounds(a)) return false;
    static const std::set<std::string> kOrdered = {"xchg", "compare and exchange", "uinc_wrap", "udec_wrap"};
    return a.operation == b.operation &&
           std::ranges::none_of(kOrdered, [&](auto& ordered) { return a.operation.starts_with(ordered); });
  }

  const isl::map& placed(size_t i) {
    if (placed_[i].is_null()) placed_[i] = touches_[i].placed().intersect_params(setting_.asked);
    return placed_[i];
  }

  /// Whether between() may have kept pairs that a barrier orders.
  bool may_be_ordered(const Touch& a, const Touch& b) {
    if (side_.model.barriers.empty()) return false;
    return !a.timed() || !b.timed() || known_meetings().size() < side_.model.barriers.size();
  }

  const std::vector<Meeting>& known_meetings() {
    if (!meetings_) meetings_ = meetings(setting_, side_, scope_);
    return *meetings_;
  }

  /// A barrier that every thread reaches is between all instances of the two accesses.
  bool always_ordered(const KernelModel::Access& a, const KernelModel::Access& b) const {
    auto before = [](const KernelModel::Time& first, const KernelModel::Time& second) {
      for (size_t i = 0; i < std::min(first.size(), second.size()); ++i) {
        auto x = first[i].as_constant(), y = second[i].as_constant();
        if (!x || !y) return false;
        if (*x != *y) return *x < *y;
      }
      return false;
    };
    return std::ranges::any_of(side_.model.barriers, [&](auto& barrier) {
      return !barrier.of_warp && barrier.domain.is_constant(1) &&
             ((before(a.time, barrier.time) && before(barrier.time, b.time)) ||
              (before(b.time, barrier.time) && before(barrier.time, a.time)));
    });
  }

  /// The pairs in which an element that both read has one value.
  isl::map consistent(size_t i, size_t j, const isl::map& pairs) {
    std::string conditions;
    auto positions = [&](const Touch& touch, const std::string& prefix) {
      std::vector<std::pair<TouchTerm, std::vector<std::string>>> all;
      size_t at = subscripts_;
      for (auto& term : touch.terms()) {
        all.push_back({term, {}});
        for (size_t i = 0; i <= term.arguments; ++i) all.back().second.push_back(prefix + std::to_string(at++));
      }
      return all;
    };
    for (auto& [term, left] : positions(touches_[i], "s"))
      for (auto& [other, right] : positions(touches_[j], "t")) {
        if (!(term == other)) continue;
        conditions += (conditions.empty() ? "(" : " and (") + left.back() + " = " + right.back();
        for (size_t k = 0; k + 1 < left.size(); ++k)
          conditions += " or " + left[k] + " < " + right[k] + " or " + left[k] + " > " + right[k];
        conditions += ")";
      }
    if (conditions.empty()) return pairs;
    return pairs.intersect(isl::map(setting_.context, "{ E[" + numbered("s", size(pairs, isl_dim_in)) + "] -> E[" +
                                                          numbered("t", size(pairs, isl_dim_out)) +
                                                          "] : " + conditions + " }"));
  }

  static size_t size(const isl::map& map, isl_dim_type type) { return isl_map_dim(map.get(), type); }

  /// `surely`: no pairs that may be one thread's iterations.
  isl::map between(size_t i, size_t j, bool surely = false) {
    auto &a = touches_[i], &b = touches_[j];
    const isl::map left = placed(i), right = placed(j);
    if (left.is_null() || right.is_null()) return {};
    const size_t a_elements = size(left, isl_dim_out), b_elements = size(right, isl_dim_out);
    const isl::map same(setting_.context, "{ E[" + numbered("s", a_elements) + "] -> E[" + numbered("t", b_elements) +
                                              "] : " + all_equal("s", "t", subscripts_) + " }");
    const std::string places =
        "X[" + numbered("a", size(left, isl_dim_in)) + "] -> X[" + numbered("b", size(right, isl_dim_in)) + "]";
    std::string equal = "1 = 1";
    for (int k = 0; k < kThreadComponents; ++k)
      if (!surely || (!a.strides_in(k) && !b.strides_in(k)))
        equal += " and a" + std::to_string(k) + " = b" + std::to_string(k);
    const isl::map different(setting_.context, "{ " + places + " : not (" + equal + ") }");
    isl::map instances = left.apply_range(same).apply_range(right.reverse()).intersect(different);
    if (instances.is_null() || instances.is_empty().is_true()) return instances;
    if (a.timed() && b.timed()) {
      for (auto& meeting : known_meetings()) {
        instances = instances.subtract(ordered(a, b, meeting, places, "a", "b"));
        instances = instances.subtract(ordered(b, a, meeting, places, "b", "a"));
        if (instances.is_null() || instances.is_empty().is_true()) return instances;
      }
    }
    return left.reverse().apply_range(instances).apply_range(right).intersect(same);
  }

  /// A barrier that orders no memory orders a load whose value it is given before what depends on its result.
  bool orders(const KernelModel::Barrier& barrier, const KernelModel::Access& first,
              const KernelModel::Access& second) const {
    const auto number = static_cast<size_t>(&barrier - side_.model.barriers.data());
    return barrier.orders_memory || (first.kind == Kind::Load && second.kind != Kind::Load &&
                                     first.exchanges.contains(number) && second.exchanges.contains(number));
  }

  /// Instances of which the first is before the meeting and the second after it.
  isl::map ordered(const Touch& first, const Touch& second, const Meeting& meeting, const std::string& places,
                   const std::string& first_prefix, const std::string& second_prefix) {
    // Counters follow the thread and the block in the tuple.
    auto time = [&](const Touch& touch, const std::string& prefix) {
      auto components = touch.time(prefix);
      int number = kThreadComponents + kBlockComponents;
      for (auto& component : components)
        if (!is_number(component)) component = prefix + std::to_string(number++);
      return components;
    };
    std::string before = earlier(time(first, first_prefix), meeting.time);
    std::string after = earlier(meeting.time, time(second, second_prefix));
    std::string parameters;
    for (auto& [name, expression] : setting_.parameters) parameters += (parameters.empty() ? "" : ", ") + name;
    const bool of_warp = !meeting.thread.empty();
    if (before.empty() || after.empty() || !orders(*meeting.barrier, first.access(), second.access()) ||
        (of_warp && (first.strides() || second.strides())))
      return isl::map(setting_.context, "{ " + places + " : 1 = 0 }");
    std::string block;
    for (int axis = 0; axis < 3; ++axis) {
      const std::string place = std::to_string(kThreadComponents + axis);
      block += "a" + place + " = b" + place + " and a" + place + " = " + meeting.block[axis] + " and ";
    }
    for (int i = 0; of_warp && i < kThreadComponents; ++i)
      for (const char* side : {"a", "b"}) {
        const std::string thread = side + std::to_string(i), other = meeting.thread[i];
        block += (i == kAlongX ? same_lanes(side_, *meeting.barrier, thread, other) : thread + " = " + other) + " and ";
      }
    return isl::map(setting_.context, "[" + parameters + "] -> { " + places + " : exists " + meeting.dimensions +
                                          " : " + block + meeting.constraints + " and (" + before + ") and (" + after +
                                          ") }");
  }

  Setting& setting_;
  const Side& side_;
  const std::vector<Touch>& touches_;
  size_t subscripts_;
  Scope scope_;
  Order order_;
  std::vector<isl::map> placed_;
  std::optional<std::vector<Meeting>> meetings_;
};

}  // namespace

std::optional<std::vector<Conflict>> conflicts(Setting& setting, const Side& side, const std::vector<Touch>& touches,
                                               size_t subscripts, InstanceText::Scope scope, Order order) {
  return Search(setting, side, touches, subscripts, scope, order).run();
}

bool rounds(const KernelModel::Access& access) {
  auto& operation = access.operation;
  return operation.starts_with("fadd") || operation.starts_with("fsub") ||
         operation.starts_with("llvm.nvvm.atomic.add.gen.f");
}

bool leave_the_same(const Side& original, const Side& candidate, const Conflict& ours, const Touch& a, const Touch& b) {
  if (a.access().kind != KernelModel::Access::Kind::Store || b.access().kind != KernelModel::Access::Kind::Store)
    return true;
  const bool same_threads =
      original.launch.block == candidate.launch.block && original.launch.grid == candidate.launch.grid;
  // Of one text under another launch: no integer that is stored tells threads apart.
  auto stores_none = [](const KernelModel& model) {
    return std::ranges::none_of(model.data, [](auto& datum) { return datum.stored; });
  };
  auto &before = original.model, &after = candidate.model;
  const bool same_text = !before.code.empty() && before.code == after.code && before.data.size() == after.data.size() &&
                         stores_none(before) && stores_none(after);
  auto same = [&](const KernelModel::Access& one, const KernelModel::Access& other) {
    if (one.stored.empty() || other.stored.empty()) return false;
    const bool by_thread = one.stored.starts_with(KernelModel::kByThread);
    if (by_thread && other.stored.starts_with(KernelModel::kByThread) && same_text) return true;
    return one.stored == other.stored && (same_threads || !by_thread);
  };
  return same(a.access(), ours.a->access()) && same(b.access(), ours.b->access());
}

std::string meeting(const Conflict& conflict, const std::string& name) {
  auto &a = conflict.a->access(), &b = conflict.b->access();
  return std::string("one thread ") + word(a.kind) + at_line(a.line) + " what another " + word(b.kind) +
         at_line(b.line) + ", in " + name;
}

bool chosen_by_memory(const Conflict& conflict) {
  return std::ranges::any_of(std::array{conflict.a, conflict.b}, [](auto* touch) {
    return std::ranges::any_of(touch->access().offset.variables(),
                               [](auto& variable) { return variable.starts_with("term."); });
  });
}

bool one_element_a_thread(const std::vector<Touch>& touches) {
  isl::map all;
  for (auto& touch : touches) {
    if (!touch.exact() || touch.strides() || !touch.terms().empty()) return false;
    isl::map one = touch.by_thread();
    all = all.is_null() ? one : all.unite(one);
  }
  return touches.empty() || (!all.is_null() && all.is_single_valued().is_true());
}

}  // namespace kernelift::legality
