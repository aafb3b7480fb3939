// See oracle.h.
#include "core/legality/tests/oracle.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

namespace kernelift::legality {
namespace {

using Access = KernelModel::Access;
using Object = KernelModel::Object;

constexpr int64_t kMostIterations = 40;  ///< Of one loop.
constexpr int64_t kMostInstances = 200'000;
constexpr int64_t kDrawnValues = 6;  ///< Values in memory are below.

struct NoValue {};

/// An expression with its variables as places in an array.
struct Compiled {
  Expression::Op op = Expression::Op::Constant;
  int64_t value = 0;
  std::vector<Compiled> operands;
};

class Slots {
 public:
  size_t slot(const std::string& name) { return slots_.try_emplace(name, slots_.size()).first->second; }
  Compiled compile(const Expression& expression) {
    Compiled compiled{expression.op(), 0, {}};
    if (auto constant = expression.as_constant()) compiled.value = *constant;
    if (auto* name = expression.as_variable()) compiled.value = int64_t(slot(*name));
    for (auto& operand : expression.operands()) compiled.operands.push_back(compile(operand));
    return compiled;
  }

 private:
  std::map<std::string, size_t> slots_;
};

int64_t value(const Compiled& node, const std::vector<int64_t>& slots) {
  using Op = Expression::Op;
  auto at = [&](size_t i) { return value(node.operands[i], slots); };
  switch (node.op) {
    case Op::Constant: return node.value;
    case Op::Variable: return slots[node.value];
    case Op::Negate: return -at(0);
    case Op::Not: return !at(0);
    case Op::Complement: return ~at(0);
    case Op::Or: return at(0) || at(1);
    case Op::And: return at(0) && at(1);
    case Op::Conditional: return at(0) ? at(1) : at(2);
    default: break;
  }
  const int64_t a = at(0), b = at(1);
  switch (node.op) {
    case Op::BitOr: return a | b;
    case Op::BitXor: return a ^ b;
    case Op::BitAnd: return a & b;
    case Op::Equal: return a == b;
    case Op::NotEqual: return a != b;
    case Op::LessEqual: return a <= b;
    case Op::GreaterEqual: return a >= b;
    case Op::Less: return a < b;
    case Op::Greater: return a > b;
    case Op::ShiftLeft: return a << b;
    case Op::ShiftRight: return a >> b;
    case Op::Add: return a + b;
    case Op::Subtract: return a - b;
    case Op::Multiply: return a * b;
    case Op::Min: return std::min(a, b);
    case Op::Max: return std::max(a, b);
    default: break;
  }
  if (b == 0) throw NoValue{};
  if (node.op == Op::Divide) return a / b;
  if (node.op == Op::Remainder) return a % b;
  return a / b + (a % b != 0 && (a % b > 0) == (b > 0));
}

class Launch {
 public:
  Launch(const Side& side, const Bindings& sizes) : side_(side) {
    for (auto& [name, size] : sizes) set(slots_.slot(name), size);
    for (int axis = 0; axis < 3; ++axis) {
      auto& grid = side.launch.grid[axis];
      if (!grid) throw NoValue{};
      auto blocks = grid->evaluate(sizes);
      if (!blocks.ok()) throw NoValue{};
      grid_[axis] = *blocks;
      const std::string letter(1, "xyz"[axis]);
      tid_[axis] = slots_.slot("tid." + letter), bid_[axis] = slots_.slot("bid." + letter);
      set(slots_.slot("nctaid." + letter), *blocks);
      set(slots_.slot("ntid." + letter), along(side.launch.block, axis));
    }
    for (auto& term : side.model.terms) {
      terms_.push_back({slots_.slot(term.name), std::hash<std::string>()(to_json(term.value).dump()), {}});
      for (auto& argument : term.arguments) terms_.back().arguments.push_back(slots_.compile(argument));
      if (!term.repeats) changing_.insert(term.name);
    }
  }

  Observed run() {
    Observed seen;
    seen.launched = grid_[0] > 0 && grid_[1] > 0 && grid_[2] > 0 && grid_[1] <= 65535 && grid_[2] <= 65535;
    if (!seen.launched) return seen;
    barriers();
    seen.divergent = divergent_;
    for (auto& access : side_.model.accesses) {
      touch(access);
      if (access.kind != KernelModel::Access::Kind::Load) seen.written.insert(side_.model.objects[access.object].name);
    }
    seen.strays = strays_, seen.misaligned = misaligned_;
    std::ranges::sort(uses_);
    for (auto begin = uses_.begin(); begin != uses_.end();) {
      const auto end = std::find_if(begin, uses_.end(), [&](auto& use) { return use.byte != begin->byte; });
      add({begin, end}, seen);
      begin = end;
    }
    return seen;
  }

 private:
  struct Term {
    size_t slot;
    size_t value;
    std::vector<Compiled> arguments;
  };
  struct Use {
    Observed::Byte byte;
    int64_t block, thread, phase;
    Access::Kind kind;
    const Object* object;
    auto operator<=>(const Use&) const = default;
  };
  using Times = std::set<std::vector<int64_t>>;

  void set(size_t slot, int64_t to) {
    if (values_.size() <= slot) values_.resize(slot + 1);
    values_[slot] = to;
  }

  void draw_terms() {
    for (auto& term : terms_) {
      size_t hash = term.value;
      for (auto& argument : term.arguments) hash = hash * 1000003 + size_t(value(argument, values_)) * 2654435761u;
      set(term.slot, int64_t(hash >> 7) % kDrawnValues);
    }
  }

  void refuse_changing(const Expression& expression) const {
    for (auto& name : expression.variables())
      if (changing_.contains(name)) throw NoValue{};
  }

  /// Calls `does` for each thread and iteration for which the domain holds.
  void for_each(const Expression& domain, const std::vector<std::string>& counters,
                const std::function<void(int64_t block, int64_t thread)>& does) {
    refuse_changing(domain);
    const Compiled condition = slots_.compile(domain);
    std::vector<size_t> loops;
    for (auto& counter : counters) loops.push_back(slots_.slot(counter));
    values_.resize(std::max<size_t>(values_.size(), slots_.slot("last") + 1));
    auto& block = side_.launch.block;
    int64_t number = 0;
    for (int64_t bz = 0; bz < grid_[2]; ++bz)
      for (int64_t by = 0; by < grid_[1]; ++by)
        for (int64_t bx = 0; bx < grid_[0]; ++bx, ++number)
          for (uint32_t t = 0; t < block.count(); ++t) {
            set(bid_[0], bx), set(bid_[1], by), set(bid_[2], bz);
            set(tid_[0], t % block.x), set(tid_[1], t / block.x % block.y), set(tid_[2], t / block.x / block.y);
            iterate(condition, loops, 0, [&] { does(number, t); });
          }
  }

  void iterate(const Compiled& condition, const std::vector<size_t>& loops, size_t depth,
               const std::function<void()>& does) {
    if (depth < loops.size()) {
      for (int64_t k = 0; k < kMostIterations; ++k) {
        set(loops[depth], k);
        iterate(condition, loops, depth + 1, does);
      }
      return;
    }
    if (++instances_ > kMostInstances) throw NoValue{};
    draw_terms();
    if (!value(condition, values_)) return;
    // A loop that may go on is not seen in full.
    for (size_t loop : loops)
      if (values_[loop] == kMostIterations - 1) throw NoValue{};
    does();
  }

  std::vector<Compiled> compile(const KernelModel::Time& time) {
    std::vector<Compiled> all;
    for (auto& component : time) all.push_back(slots_.compile(component));
    return all;
  }
  std::vector<int64_t> now(const std::vector<Compiled>& time) const {
    std::vector<int64_t> all;
    for (auto& component : time) all.push_back(value(component, values_));
    return all;
  }

  void barriers() {
    for (auto& barrier : side_.model.barriers) {
      if (barrier.of_warp) throw NoValue{};
      auto time = compile(barrier.time);
      std::map<std::pair<int64_t, std::vector<int64_t>>, uint64_t> reached;
      for_each(barrier.domain, barrier.counters, [&](int64_t block, int64_t) {
        ++reached[{block, now(time)}];
        barriers_[block].insert(now(time));
      });
      for (auto& [where, threads] : reached) divergent_ |= threads != side_.launch.block.count();
    }
  }

  void touch(const Access& access) {
    auto& object = side_.model.objects[access.object];
    refuse_changing(access.offset);
    const Compiled offset = slots_.compile(access.offset);
    auto time = compile(access.time);
    const bool shared = object.kind == Object::Kind::Shared, local = object.kind == Object::Kind::Local;
    const Name own = object.name;
    for_each(access.domain, access.counters, [&](int64_t block, int64_t thread) {
      const int64_t from = value(offset, values_);
      strays_ |= object.bytes && (from < 0 || from + access.bytes > int64_t(*object.bytes));
      misaligned_ |= access.alignment > 1 && from % access.alignment != 0;
      if (local) return;
      auto& times = barriers_[block];
      const int64_t phase = std::distance(times.begin(), times.lower_bound(now(time)));
      const Name name = shared ? Name("shared " + object.shown + " " + std::to_string(block)) : own;
      for (int64_t byte = from; byte < from + int64_t(access.bytes); byte += 1)
        uses_.push_back({{name, byte}, block, thread, phase, access.kind, &object});
    });
  }

  /// Of one byte, all its uses.
  static void add(std::span<const Use> uses, Observed& seen) {
    const Observed::Byte byte = uses[0].byte;
    const bool shared = uses[0].object->kind == Object::Kind::Shared;
    for (auto& use : uses) {
      seen.bytes.insert({use.kind, use.object->name, byte.second});
      if (shared) continue;
      if (use.kind == Access::Kind::Store) seen.stored.insert(seen.stored.end(), byte);
      if (use.kind == Access::Kind::Atomic) seen.changed.insert(seen.changed.end(), byte);
    }
    if (!shared) seen.touched.insert(seen.touched.end(), byte);
    if (conflicts(uses)) (shared ? seen.shared_conflicting : seen.conflicting).insert(byte);
  }

  static bool conflicts(std::span<const Use> uses) {
    for (auto& a : uses) {
      if (a.kind == Access::Kind::Load) continue;
      for (auto& b : uses) {
        if (a.block == b.block && a.thread == b.thread) continue;
        if (a.kind == Access::Kind::Atomic && b.kind == Access::Kind::Atomic) continue;
        if (a.block != b.block || a.phase == b.phase) return true;
      }
    }
    return false;
  }

  const Side& side_;
  Slots slots_;
  std::vector<int64_t> values_;
  std::array<int64_t, 3> grid_{};
  std::array<size_t, 3> tid_{}, bid_{};
  std::vector<Term> terms_;
  std::set<std::string> changing_;
  std::map<int64_t, Times> barriers_;
  std::vector<Use> uses_;
  bool divergent_ = false, strays_ = false, misaligned_ = false;
  int64_t instances_ = 0;
};

std::string first_beyond(const std::set<Observed::Byte>& all, const std::set<Observed::Byte>& allowed) {
  for (auto& one : all)
    if (!allowed.contains(one)) return one.first.text() + " + " + std::to_string(one.second);
  return "";
}

}  // namespace

Name::Name(const std::string& text) {
  static std::unordered_set<std::string> known;
  text_ = &*known.insert(text).first;
}

std::optional<Observed> observe(const Side& side, const Bindings& sizes) {
  try {
    return Launch(side, sizes).run();
  } catch (const NoValue&) {
    return std::nullopt;
  }
}

std::string difference(const Observed& original, const Observed& candidate) {
  if (!candidate.launched) return "cannot be launched";
  if (candidate.strays) return "leaves an array";
  if (candidate.misaligned) return "is not aligned";
  if (candidate.divergent && !original.divergent) return "has a divergent barrier";
  if (auto what = first_beyond(candidate.touched, original.touched); !what.empty()) return "touches " + what;
  if (auto what = first_beyond(candidate.stored, original.stored); !what.empty()) return "writes " + what;
  if (auto what = first_beyond(original.stored, candidate.stored); !what.empty()) return "does not write " + what;
  if (auto what = first_beyond(candidate.changed, original.changed); !what.empty()) return "changes " + what;
  if (auto what = first_beyond(original.changed, candidate.changed); !what.empty()) return "does not change " + what;
  if (auto what = first_beyond(candidate.conflicting, original.conflicting); !what.empty())
    return "has a race on " + what;
  if (!candidate.shared_conflicting.empty() && original.shared_conflicting.empty())
    return "has a race on " + candidate.shared_conflicting.begin()->first.text();
  // Of what no access of the original writes.
  std::set<Observed::Byte> inputs;
  for (auto& byte : original.touched)
    if (!original.written.contains(byte.first.text())) inputs.insert(byte);
  if (auto what = first_beyond(inputs, candidate.touched); !what.empty()) return "does not read " + what;
  return "";
}

}  // namespace kernelift::legality
