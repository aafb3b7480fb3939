// See halo_tile.h.
#include "tuner/source/rules/stencils/halo_tile.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/Expr.h>
#include <clang/AST/ExprCXX.h>

#include <algorithm>
#include <cstdlib>

#include "tuner/source/rules/loop_range.h"
#include "tuner/source/rules/spelled_type.h"
#include "tuner/source/rules/stencils/row_kernel.h"

namespace kernelift::tuner {
namespace {

constexpr int64_t kFarthest = 8;  ///< Distance along an axis.
constexpr size_t kMostBoxes = 4;  ///< Of a tile.

using Offsets = std::pair<int64_t, int64_t>;

/// The multiple of `step` that the sum is, if it is a small one.
std::optional<int64_t> small_multiple(const IndexSum& sum, const IndexSum& step) {
  for (int64_t times = 1; times <= kFarthest; ++times)
    for (int64_t signed_times : {times, -times})
      if (sum == IndexSum().plus(step, signed_times)) return signed_times;
  return std::nullopt;
}

/// Rectangles that cover these points and no other, each as large as it can be from its first point on.
std::vector<HaloBox> rectangles(const std::set<Offsets>& points) {
  std::vector<HaloBox> boxes;
  std::set<Offsets> open = points;
  while (!open.empty()) {
    const auto [x, y] = *open.begin();
    HaloBox largest;
    int64_t area = 0;
    for (bool x_first : {true, false}) {
      HaloBox box{{x, y}, {x, y}, -1};
      auto inside = [&](const HaloBox& one) {
        for (int64_t i = one.low[0]; i <= one.high[0]; ++i)
          for (int64_t j = one.low[1]; j <= one.high[1]; ++j)
            if (!points.contains({i, j})) return false;
        return true;
      };
      for (int axis : {x_first ? 0 : 1, x_first ? 1 : 0})
        for (bool up : {true, false})
          for (HaloBox more = box;;) {
            up ? ++more.high[axis] : --more.low[axis];
            if (!inside(more)) break;
            box = more;
          }
      const int64_t size = (box.high[0] - box.low[0] + 1) * (box.high[1] - box.low[1] + 1);
      if (size > area) largest = box, area = size;
    }
    boxes.push_back(largest);
    std::erase_if(open, [&](auto& point) {
      return point.first >= largest.low[0] && point.first <= largest.high[0] && point.second >= largest.low[1] &&
             point.second <= largest.high[1];
    });
  }
  return boxes;
}

/// Joins boxes that differ by two along an axis, as left and right of a cell.
void join_over_gaps(std::vector<HaloBox>& boxes, int axis) {
  for (size_t a = 0; a < boxes.size(); ++a)
    for (size_t b = 0; b < boxes.size(); ++b) {
      auto &one = boxes[a], &other = boxes[b];
      const bool alone = one.gap < 0 && other.gap < 0 && one.low[axis] == one.high[axis] &&
                         other.low[axis] == other.high[axis] && other.low[axis] == one.low[axis] + 2;
      if (!alone || one.low[1 - axis] != other.low[1 - axis] || one.high[1 - axis] != other.high[1 - axis]) continue;
      one.high[axis] = other.high[axis], one.gap = axis;
      boxes.erase(boxes.begin() + static_cast<std::ptrdiff_t>(b));
      return join_over_gaps(boxes, axis);
    }
}

bool leaves_sweep(const clang::ForStmt* loop) {
  bool leaves = false;
  walk(loop->getBody(), [&](const clang::Stmt* inner) {
    return !(leaves |= llvm::isa<clang::BreakStmt, clang::ReturnStmt, clang::GotoStmt>(inner));
  });
  return leaves;
}

/// A bound that is spelled by a name may be another number in another build.
void add_number(const KernelSource& source, const clang::Expr* bound, int64_t number, std::set<std::string>& numbers) {
  const std::string text = source.spelled(bound);
  if (text.find_first_not_of("+-0123456789 ()") != text.npos) numbers.insert(text + " == " + std::to_string(number));
}

/// An object of the type needs no constructor, which objects in shared memory cannot have.
bool needs_no_constructor(clang::QualType type) {
  if (type->isDependentType()) return false;
  auto* record = type->getAsCXXRecordDecl();
  return !record || record->hasTrivialDefaultConstructor();
}

}  // namespace

std::optional<std::pair<int64_t, int64_t>> counted_range(const KernelSource& source, const clang::ForStmt* loop) {
  auto range = LoopRange::of(loop);
  if (!range || !range->counter || !range->first || changed_within(loop->getBody()).contains(range->counter))
    return std::nullopt;
  auto* step = llvm::dyn_cast_or_null<clang::UnaryOperator>(loop->getInc());
  clang::Expr::EvalResult first, end;
  auto known = [&](const clang::Expr* value, clang::Expr::EvalResult& result) {
    return !value->isValueDependent() && value->EvaluateAsInt(result, source.context());
  };
  const auto operation = range->condition->getOpcode();
  if (!step || !step->isIncrementOp() || named_variable(step->getSubExpr()) != range->counter ||
      named_variable(range->condition->getLHS()) != range->counter || !known(range->first, first) ||
      !known(range->condition->getRHS(), end) ||
      (operation != clang::BO_LT && operation != clang::BO_LE && operation != clang::BO_NE))
    return std::nullopt;
  const int64_t begin = first.Val.getInt().getExtValue(),
                last = end.Val.getInt().getExtValue() - (operation != clang::BO_LE);
  return begin <= last ? std::optional(std::pair(begin, last)) : std::nullopt;
}

struct HaloKernel::Read {
  HaloUse use;
  IndexSum place;                         ///< Without counters.
  std::set<int64_t> values[2];            ///< Distances from `use.at`, by the counters.
  std::set<std::string> numbers;          ///< See HaloTile.
  const clang::VarDecl* march = nullptr;  ///< A counter that counts something else than elements along x or y.
  HaloReads under;  ///< Its conditions; those of elements are relative to the family's first read.
};

struct HaloKernel::Family {
  const clang::VarDecl* array = nullptr;
  IndexSum steps[2];
  std::vector<Read> reads = {};
};

HaloKernel::HaloKernel(const KernelSource& source, const RuleContext& facts, const clang::FunctionDecl* kernel)
    : source_(source), facts_(facts), kernel_(kernel), body_(llvm::cast<clang::CompoundStmt>(kernel->getBody())) {}

std::vector<const clang::VarDecl*> HaloKernel::of_threads() const {
  return {indices_[0]->variable, indices_[1] ? indices_[1]->variable : nullptr};
}

/// False if the threads of a block differ by more than their global indices.
bool HaloKernel::find_indices() {
  for (int axis = 0; axis < 3; ++axis) {
    auto index = global_index(source_, kernel_, axis);
    if (index && index->declared && !index->block_only) {
      indices_[axis] = std::move(*index);
      continue;
    }
    bool mentioned = false;
    walk(body_, [&](const clang::Stmt* inner) {
      auto builtin = builtin_of(inner);
      mentioned |= builtin && (builtin->second == 0 || builtin->second == *kAxisNames[axis]) &&
                   (builtin->first == "threadIdx" || builtin->first == "blockDim");
      return !builtin;
    });
    const bool flat =
        std::ranges::all_of(facts_.geometries, [&](auto& geometry) { return along(geometry.block, axis) == 1; });
    if (axis == 0 || mentioned || !flat) return false;
  }
  return true;
}

std::vector<HaloKernel::Family> HaloKernel::families() {
  std::vector<Family> found;
  walk(body_, [&](const clang::Stmt* statement) {
    auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(statement);
    auto* array = element ? named_variable(element->getBase()) : nullptr;
    auto place = array ? sums_->of(element->getIdx()) : std::nullopt;
    if (!place || !llvm::isa<clang::ParmVarDecl>(array) || !array->getType()->isPointerType() ||
        sums_->changes(array) || element->getType().isVolatileQualified() || !is_read(source_, element))
      return true;
    Family family{array, {}};
    for (int axis : {0, 1}) {
      if (!indices_[axis]) continue;
      auto step = place->coefficient(IndexSums::name(indices_[axis]->variable));
      if (!step || step->is_zero()) return true;
      family.steps[axis] = *step;
    }
    Read read{{element}, *place, {}, {}, nullptr, {}};
    for (auto* counter : counters_) {
      const std::string name = IndexSums::name(counter);
      auto factor = place->coefficient(name);
      if (!factor) return true;
      if (factor->is_zero()) continue;
      int found_axis = -1;
      for (int axis : {1, 0})
        if (auto times = indices_[axis] ? small_multiple(*factor, family.steps[axis]) : std::nullopt)
          found_axis = axis, read.use.counters[axis].insert_or_assign(name, *times);
      if (found_axis < 0) {
        if (read.march) return true;
        read.march = counter;
        continue;
      }
      read.place = read.place.plus(factor->times(IndexSum::variable(name)), -1);
      if (found_axis == 0) read.use.counters[1].erase(name);
    }
    for (auto& other : found) {
      if (other.array != array || other.steps[0] != family.steps[0] || other.steps[1] != family.steps[1]) continue;
      const IndexSum difference = read.place.plus(other.reads.front().place, -1);
      const int64_t rows = indices_[1] ? kFarthest : 0;
      for (int64_t size = 0; size <= 2 * kFarthest; ++size)
        for (int64_t y = -std::min(rows, size); y <= std::min(rows, size); ++y)
          for (int64_t x : {size - std::abs(y), std::abs(y) - size}) {
            if (std::abs(x) > kFarthest || difference != IndexSum().plus(other.steps[0], x).plus(other.steps[1], y))
              continue;
            read.use.at[0] = x, read.use.at[1] = y;
            other.reads.push_back(std::move(read));
            return true;
          }
    }
    family.reads.push_back(std::move(read));
    found.push_back(std::move(family));
    return true;
  });
  std::erase_if(found, [&](Family& family) {
    return std::ranges::none_of(family.reads, [&](Read& read) {
      return !read.use.counters[0].empty() || !read.use.counters[1].empty() || read.use.at[0] != 0 ||
             read.use.at[1] != 0;
    });
  });
  return found;
}

/// Finds the conditions and distances of the read. Why they are not known; empty: they are.
std::string HaloKernel::complete(Read& read, const Family& family) const {
  const std::string name = "`" + family.array->getNameAsString() + "` is read ";
  const auto around = Surroundings::of(source_, read.use.read);
  if (!around.complete) return name + "where more than conditions decide";
  if (source_.spelled(read.use.read).empty()) return name + "by a macro";
  if (march_ && std::ranges::find(around.loops, march_->loop) == around.loops.end())
    return name + "behind the loop over " + march_->counter->getNameAsString();
  std::map<std::string, std::pair<int64_t, int64_t>> ranges;
  for (auto* loop : around.loops) {
    if (march_ && loop == march_->loop && loop == around.loops.back()) continue;
    auto range = counted_range(source_, loop);
    if (!range || leaves_sweep(loop)) return name + "in a loop whose iterations are not known by number";
    const auto parts = LoopRange::of(loop);
    ranges[IndexSums::name(parts->counter)] = *range;
    const bool last = parts->condition->getOpcode() == clang::BO_LE;
    add_number(source_, parts->first, range->first, read.numbers);
    add_number(source_, parts->condition->getRHS(), range->second + !last, read.numbers);
  }
  for (int axis : {0, 1}) {
    read.values[axis] = {0};
    for (auto& [counter, times] : read.use.counters[axis]) {
      auto range = ranges.find(counter);
      if (range == ranges.end()) return name + "at a counter outside of its loop";
      std::set<int64_t> all;
      for (int64_t value = range->second.first; value <= range->second.second && all.size() < 64; ++value)
        for (int64_t other : read.values[axis]) all.insert(other + times * value);
      read.values[axis] = std::move(all);
    }
    if (*read.values[axis].rbegin() - *read.values[axis].begin() > 2 * kFarthest)
      return name + "at distances that are too large";
  }
  for (auto& held : around.conditions) {
    if (std::string agreed = reader_->uniform(held); !agreed.empty()) {
      read.under.agreed.insert(agreed);
      continue;
    }
    auto bound = reader_->bound(held);
    if (!bound) return name + "under a condition that is no bound of an index";
    if (bound->counters.empty()) {
      read.under.threads.insert(*bound);
    } else {
      if (bound->counters != read.use.counters[bound->axis]) return name + "under a condition on another place";
      bound->counters.clear(), bound->shift += read.use.at[bound->axis];
      read.under.elements.insert(*bound);
    }
  }
  return {};
}

/// The read from which distances are counted: the one in the middle.
std::string HaloKernel::choose_base(HaloTile& tile, const std::vector<Read>& reads) const {
  int64_t low[2] = {}, high[2] = {}, nearest = -1, base[2] = {};
  bool first = true;
  for (auto& read : reads) {
    for (int axis : {0, 1}) {
      const int64_t least = read.use.at[axis] + *read.values[axis].begin(),
                    most = read.use.at[axis] + *read.values[axis].rbegin();
      low[axis] = first ? least : std::min(low[axis], least), high[axis] = first ? most : std::max(high[axis], most);
    }
    first = false;
  }
  for (auto& read : reads)
    for (int64_t x : read.values[0])
      for (int64_t y : read.values[1]) {
        const int64_t at[] = {read.use.at[0] + x, read.use.at[1] + y};
        const int64_t away = std::abs(2 * at[0] - low[0] - high[0]) + std::abs(2 * at[1] - low[1] - high[1]);
        if (nearest >= 0 && away >= nearest) continue;
        const int64_t counted[] = {x, y};
        std::vector<std::pair<const clang::VarDecl*, int64_t>> counters;
        bool single = true;
        for (int axis : {0, 1}) {
          single &= read.use.counters[axis].size() <= 1;
          for (auto& [name, times] : read.use.counters[axis])
            for (auto* counter : counters_)
              if (IndexSums::name(counter) == name) counters.emplace_back(counter, counted[axis] / times);
        }
        if (!single) return "`" + tile.array->getNameAsString() + "` is read at sums of counters";
        nearest = away, tile.base = read.use.read, tile.counters = counters;
        base[0] = at[0], base[1] = at[1];
      }
  std::map<std::tuple<std::set<IndexBound>, std::set<IndexBound>, std::set<std::string>>, std::set<Offsets>> groups;
  for (auto read : reads) {
    std::set<IndexBound> elements;
    for (auto bound : read.under.elements) bound.shift -= base[bound.axis], elements.insert(bound);
    for (int axis : {0, 1}) read.use.at[axis] -= base[axis];
    auto& points = groups[{read.under.threads, elements, read.under.agreed}];
    for (int64_t x : read.values[0])
      for (int64_t y : read.values[1]) points.insert({read.use.at[0] + x, read.use.at[1] + y});
    tile.uses.push_back(read.use);
    tile.numbers.insert(read.numbers.begin(), read.numbers.end());
  }
  for (int axis : {0, 1}) tile.hull.low[axis] = low[axis] - base[axis], tile.hull.high[axis] = high[axis] - base[axis];
  size_t boxes = 0;
  for (auto& [under, points] : groups) {
    auto covered = rectangles(points);
    for (int axis : {0, 1}) {
      auto several = [&](bool lower) {
        return std::ranges::count_if(std::get<0>(under),
                                     [&](auto& bound) { return bound.axis == axis && bound.lower == lower; }) > 1;
      };
      if (!several(true) && !several(false)) join_over_gaps(covered, axis);
    }
    tile.reads.push_back({std::get<0>(under), std::get<1>(under), std::get<2>(under), std::move(covered)});
    boxes += tile.reads.back().boxes.size();
  }
  return boxes > kMostBoxes
             ? "`" + tile.array->getNameAsString() + "` is read at distances that few rectangles do not cover"
             : "";
}

/// Finds the declarations that the base read needs anew.
std::string HaloKernel::declare(HaloTile& tile) const {
  const std::string why =
      "the subscript of `" + tile.array->getNameAsString() + "` cannot be computed for its neighbours";
  std::set<const clang::VarDecl*> moving;
  for (auto* index : of_threads())
    if (index) moving.insert(index);
  for (auto* counter : counters_) moving.insert(counter);
  std::vector<std::pair<const clang::DeclStmt*, const clang::VarDecl*>> locals;
  walk(body_, [&](const clang::Stmt* statement) {
    auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement);
    if (!declaration) return true;
    for (auto* declared : declaration->decls())
      if (auto* variable = llvm::dyn_cast<clang::VarDecl>(declared)) locals.emplace_back(declaration, variable);
    return true;
  });
  auto wanted = variables_in(tile.base->getIdx());
  const size_t place = source_.span(march_ ? march_->loop : place_)->begin;
  // In their order, each depends on earlier ones alone.
  for (auto& [declaration, variable] : locals)
    if (variable->getInit() && !moving.contains(variable)) {
      auto at = source_.offset(variable->getLocation());
      auto used = variables_in(variable->getInit());
      if (!at || *at >= place || std::ranges::any_of(used, [&](auto* one) { return moving.contains(one); }))
        moving.insert(variable);
    }
  for (auto one = locals.rbegin(); one != locals.rend(); ++one) {
    auto& [declaration, variable] = *one;
    if (!wanted.contains(variable)) continue;
    auto index = of_threads();
    if (std::ranges::find(index, variable) != index.end() || std::ranges::find(counters_, variable) != counters_.end())
      continue;
    if (!moving.contains(variable)) {
      if (source_.parent(declaration) != body_) return why;
      continue;
    }
    if (std::ranges::find(tile.declarations, declaration) != tile.declarations.end()) continue;
    if (accesses_memory({declaration}) || source_.spelled(declaration).empty()) return why;
    for (auto* declared : declaration->decls()) {
      auto* part = llvm::dyn_cast<clang::VarDecl>(declared);
      if (!part || !part->getInit() || sums_->changes(part) || part->isStaticLocal()) return why;
      wanted.merge(variables_in(part->getInit()));
    }
    tile.declarations.insert(tile.declarations.begin(), declaration);
  }
  for (auto* counter : counters_)
    if (wanted.contains(counter) && !(march_ && march_->counter == counter) &&
        std::ranges::none_of(tile.counters, [&](auto& known) { return known.first == counter; }))
      return why;
  return {};
}

/// Why the family is none; empty: its tile is added.
std::string HaloKernel::add_tile(const Family& family) {
  const std::string name = "`" + family.array->getNameAsString() + "` ";
  std::string why;
  std::vector<Read> reads;
  for (auto read : family.reads) {
    std::string reason = complete(read, family);
    for (auto& [counter, times] : read.use.counters[0])
      if (read.use.counters[1].contains(counter)) reason = name + "is read along a diagonal";
    if (reason.empty()) reads.push_back(std::move(read));
    else why = std::move(reason);
  }
  if (reads.empty()) return why;
  HaloTile tile;
  tile.array = family.array;
  if (auto reason = choose_base(tile, reads); !reason.empty()) return reason;
  if (tile.hull.low[0] == tile.hull.high[0] && tile.hull.low[1] == tile.hull.high[1]) return why;
  for (int axis : {0, 1})
    if (tile.hull.high[axis] - tile.hull.low[axis] > 2 * kFarthest)
      return name + "is read at distances that are too large";
  if (!is_only_read(source_, body_, family.array)) return name + "is not only read by its elements";
  if (touches_other_memory(body_, family.array)) {
    if (!facts_.is_unaliased(source_, family.array, body_)) return name + "may overlap what the kernel stores";
    apart_.insert(family.array->getNameAsString());
  }
  tile.type = spelled_type(source_, family.array);
  auto element = family.array->getType()->getPointeeType();
  if (tile.type.empty() || !needs_no_constructor(element)) return name + "has elements whose type cannot be repeated";
  tile.bytes = source_.context().getTypeSizeInChars(element).getQuantity();
  if (auto reason = declare(tile); !reason.empty()) return reason;
  tiles_.push_back(std::move(tile));
  return {};
}

/// Finds a loop over planes; reads in other such loops are none of the candidates then.
void HaloKernel::find_march(std::vector<Family>& candidates) {
  for (auto& family : candidates) {
    auto& read = family.reads.front();
    if (march_ || !read.march || family.reads.size() < 2) continue;
    const auto loops = Surroundings::of(source_, read.use.read).loops;
    auto span = loops.empty() ? std::nullopt : source_.span(loops.back());
    if (!span) continue;
    reader_.emplace(source_, *sums_, body_, of_threads(), counters_, span->begin);
    auto found = MarchingLoop::of(source_, body_, loops.back(), *reader_);
    if (found && found->counter == read.march) march_ = std::move(found);
    else
      why_not_ = "`" + family.array->getNameAsString() + "` is read in a loop over " + read.march->getNameAsString() +
                 " that not all threads of a block go through";
  }
  std::erase_if(candidates,
                [&](auto& family) { return family.reads.front().march != (march_ ? march_->counter : nullptr); });
}

/// Finds where the tiles can be filled, and what is known there.
bool HaloKernel::find_place(std::vector<Family>& candidates) {
  find_march(candidates);
  for (auto* statement : body_->body()) {
    bool here = false;
    walk(statement, [&](const clang::Stmt* inner) {
      here |= llvm::isa<clang::ReturnStmt>(inner);
      for (auto& family : candidates)
        here |= std::ranges::any_of(family.reads, [&](auto& read) { return read.use.read == inner; });
      return !here;
    });
    if (!here) continue;
    place_ = statement;
    break;
  }
  auto span = place_ ? source_.span(place_) : std::nullopt;
  if (!span || !source_.first_on_line(span->begin)) return give_up("a line has several statements");
  if (!march_) reader_.emplace(source_, *sums_, body_, of_threads(), counters_, span->begin);
  return !candidates.empty();
}

bool HaloKernel::find() {
  if (!RowKernel::is_fit(source_, kernel_) || !is_plain_kernel(source_, kernel_) || !find_indices()) return false;
  for (auto* loop : loops_in(kernel_))
    if (auto range = LoopRange::of(loop); range && range->counter) counters_.push_back(range->counter);
  std::vector<const clang::VarDecl*> all;
  for (auto* index : of_threads())
    if (index) all.push_back(index);
  all.insert(all.end(), counters_.begin(), counters_.end());
  sums_.emplace(source_, body_, all);
  auto candidates = families();
  if (candidates.empty() || !find_place(candidates)) return false;
  for (auto& family : candidates)
    if (auto why = add_tile(family); !why.empty()) why_not_ = why;
  return !tiles_.empty();
}

bool HaloKernel::bounded(int axis) const {
  bool all = true;
  walk(body_, [&](const clang::Stmt* statement) {
    auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(statement);
    auto* unary = llvm::dyn_cast<clang::UnaryOperator>(statement);
    auto* member = llvm::dyn_cast<clang::MemberExpr>(statement);
    if (!(element && !element->getBase()->IgnoreParenImpCasts()->getType()->isArrayType()) &&
        !(unary && unary->getOpcode() == clang::UO_Deref) && !(member && member->isArrow()) &&
        !llvm::isa<clang::CallExpr>(statement))
      return all;
    const auto around = Surroundings::of(source_, statement);
    return all &= std::ranges::any_of(around.conditions, [&](auto& held) {
             auto bound = reader_->bound(held);
             return bound && bound->axis == axis && !bound->lower && bound->counters.empty();
           });
  });
  return all;
}

}  // namespace kernelift::tuner
