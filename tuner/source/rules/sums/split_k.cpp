// split_k: a long sum that one thread or one block computes keeps few processors busy. If all that becomes of it is
// added to memory,
//   for (int k = 0; k < n; ++k) s += a[i * n + k] * x[k];
//   y[i] += s;
// several blocks, along an axis that the kernel does not use, share its terms, and each adds what it found:
//   for (int k = blockIdx.y; k < n; k += gridDim.y) s += a[i * n + k] * x[k];
//   atomicAdd(&y[i], s);
// Between the loop and the addition there may be whatever is linear in the sums: scaling, sums over a warp or a block.
// The order in which floats are added varies from launch to launch, as that of atomic sums does. A sum that is stored
// (`y[i] = s`), or of which something else is made, is shared as last_arrival.h says.
#include <clang/AST/Expr.h>

#include <algorithm>

#include "tuner/source/rules/sums/last_arrival.h"
#include "tuner/source/rules/sums/linear_flow.h"
#include "tuner/source/rules/sums/private_sums.h"
#include "tuner/source/rules/threads/block_index.h"
#include "tuner/source/rules/threads/lane_loops.h"

namespace kernelift::tuner {
namespace {

class SplitK {
 public:
  SplitK(const KernelSource& source, const RuleContext& facts, const clang::FunctionDecl* kernel, int axis)
      : source_(source), facts_(facts), kernel_(kernel), loops_(source, facts), axis_(kAxisNames[axis]) {}

  /// The outermost loops that only compute sums, or with `extrema` those as well, in order.
  std::vector<SumLoops::value_type> find_loops(bool extrema = false);
  /// Of these loops' sums; nullopt if blocks cannot share them.
  std::optional<std::vector<TextEdit>> edits(const SumLoops& loops);
  /// Arrays that no other one may overlap.
  const std::set<std::string>& apart() const { return apart_; }

 private:
  std::optional<TextEdit> atomic(const AddedValue& added) const;
  bool is_apart(const AddedValue& added);

  const KernelSource& source_;
  const RuleContext& facts_;
  const clang::FunctionDecl* kernel_;
  LaneLoops loops_;
  const std::string axis_;
  std::set<std::string> apart_;
};

std::vector<SumLoops::value_type> SplitK::find_loops(bool extrema) {
  std::vector<SumLoops::value_type> found;
  walk(kernel_->getBody(), [&](const clang::Stmt* statement) {
    auto* loop = llvm::dyn_cast<clang::ForStmt>(statement);
    auto counted = loop ? CountedLoop::of(loop, true) : std::nullopt;
    if (!counted || has_barrier(loop) || loops_.writes_memory(loop)) return true;
    auto reduced = loops_.reduced_variables(loop, counted->counter);
    if (!reduced || reduced->empty() ||
        (!extrema && std::ranges::any_of(*reduced, [](auto& one) { return one.second.how != Reduced::How::Sum; })))
      return true;
    std::set<const clang::VarDecl*> sums;
    for (auto& [target, one] : *reduced) sums.insert(one.root);
    found.emplace_back(loop, std::move(sums));
    return false;
  });
  return found;
}

std::optional<TextEdit> SplitK::atomic(const AddedValue& added) const {
  auto whole = source_.span(added.statement);
  const std::string target = source_.spelled(added.target), value = source_.spelled(added.value),
                    type = added_type(source_, added.target->getType());
  if (!whole || target.empty() || value.empty() || type.empty()) return std::nullopt;
  auto* plain = added.value->IgnoreParenImpCasts();
  const bool name = llvm::isa<clang::DeclRefExpr, clang::ArraySubscriptExpr, clang::MemberExpr>(plain);
  std::string text = added.subtracts ? "-" + (name ? value : "(" + value + ")") : value;
  if (!source_.context().hasSameUnqualifiedType(plain->getType(), added.target->getType()))
    text = "(" + type + ")" + (name && !added.subtracts ? value : "(" + text + ")");
  return TextEdit{whole->begin, whole->end, "atomicAdd(&" + target + ", " + text + ")"};
}

/// What is added to is not read by another name.
bool SplitK::is_apart(const AddedValue& added) {
  if (!added.memory->getType()->isPointerType() || !touches_other_memory(kernel_->getBody(), added.memory)) return true;
  if (!facts_.is_unaliased(source_, added.memory, kernel_->getBody())) return false;
  apart_.insert(added.memory->getNameAsString());
  return true;
}

std::optional<std::vector<TextEdit>> SplitK::edits(const SumLoops& loops) {
  auto flow = LinearFlow::of(source_, kernel_, loops);
  if (!flow) return std::nullopt;
  std::vector<TextEdit> edits;
  for (auto& [loop, sums] : loops) {
    const CountedLoop counted = *CountedLoop::of(loop, true);
    const bool wide = !counted.counter->getType()->isDependentType() &&
                      source_.context().getTypeSize(counted.counter->getType()) > 32;
    // An unsigned number would make a negative one before it large.
    auto header =
        share_iterations(source_, loop, counted, (wide ? "(int)blockIdx." : "blockIdx.") + axis_, "gridDim." + axis_);
    if (!header) return std::nullopt;
    edits.insert(edits.end(), header->begin(), header->end());
  }
  for (auto& added : flow->added) {
    if (!is_apart(added)) return std::nullopt;
    if (added.atomic) continue;
    auto edit = atomic(added);
    if (!edit) return std::nullopt;
    edits.push_back(std::move(*edit));
    if (!added.begins) continue;
    auto begin = source_.span(added.begins->getInit());
    if (!begin) return std::nullopt;
    edits.push_back({begin->begin, begin->end, "0"});
  }
  return edits;
}

/// Loops whose sums are not only added to memory.
std::vector<Opportunity> stored(const KernelSource& source, const RuleContext& facts, const clang::FunctionDecl* kernel,
                                int axis, int64_t blocks) {
  std::vector<Opportunity> found;
  for (auto& [loop, sums] : SplitK(source, facts, kernel, axis).find_loops(true)) {
    auto last = LastArrival::of(source, facts, kernel, loop, axis, blocks);
    if (!last) continue;
    if (!facts.one_after_other) {
      if (facts.declined)
        facts.declined(kSplitK, source.name(loop) +
                                    ": launches at the same time would share what its blocks keep, and not "
                                    "all recorded ones are known to be in the default stream");
      continue;
    }
    Opportunity opportunity;
    opportunity.place = source.name(loop);
    opportunity.summary = std::to_string(blocks) + " blocks a sum, the last of which puts it together";
    opportunity.edits = std::move(last->edits);
    opportunity.premises = std::move(last->premises);
    opportunity.multiply_grid(axis, blocks);
    found.push_back(std::move(opportunity));
  }
  return found;
}

std::vector<Opportunity> find_split_k(const KernelSource& source, const RuleContext& facts, const Bindings& values) {
  auto* kernel = source.kernel(facts.kernel);
  const auto blocks = static_cast<uint64_t>(values.at("blocks"));
  if (!kernel || !kernel->getReturnType()->isVoidType() || facts.geometries.empty() ||
      keeps_addresses(source, kernel->getBody()) || std::ranges::all_of(facts.geometries, fills_device))
    return {};
  auto axis = idle_axis(source, facts, kernel->getBody());
  if (!axis || std::ranges::any_of(facts.geometries,
                                   [&](auto& geometry) { return geometry.grid.count() * blocks > kMostBlocksShared; }))
    return {};
  auto offer = [&](const std::vector<SumLoops::value_type>& loops) -> std::optional<Opportunity> {
    SplitK split(source, facts, kernel, *axis);
    auto edits = split.edits({loops.begin(), loops.end()});
    if (!edits) return std::nullopt;
    Opportunity opportunity;
    for (auto& [loop, sums] : loops)
      opportunity.place += (opportunity.place.empty() ? "" : " and ") + source.name(loop);
    opportunity.summary = std::to_string(blocks) + " blocks a sum";
    opportunity.edits = std::move(*edits);
    opportunity.multiply_grid(*axis, static_cast<int64_t>(blocks));
    // More blocks or threads along the axis would each have added the whole sum.
    const std::string name = kAxisNames[*axis];
    if (!facts.single[static_cast<size_t>(*axis)])
      opportunity.premises.push_back(
          facts.premise(*Expression::parse("gridDim." + name + " == 1 && blockDim." + name + " == 1")));
    if (!split.apart().empty()) opportunity.premises.push_back(facts.no_overlap(split.apart()));
    return opportunity;
  };
  // Later loops may sum what blocks found, `for (w = 0; w < warps; ++w) s += part[w]`: all blocks do so.
  const auto all = SplitK(source, facts, kernel, *axis).find_loops();
  for (size_t count = all.size(); count > 0; --count)
    if (auto found = offer({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)})) return {*found};
  for (size_t i = 1; i < all.size(); ++i)
    if (auto found = offer({all[i]})) return {*found};
  return stored(source, facts, kernel, *axis, static_cast<int64_t>(blocks));
}

}  // namespace

const Rule kSplitK = {
    "split_k",
    "let several blocks share the terms of each sum",
    "loops that compute sums, and that a thread executes once, before anything is written; an axis of the grid that "
    "the kernel does not use; fewer threads than a GPU holds",
    {{"blocks", {16, 4, 64}}},
    find_split_k,
    {Bound::Latency, Bound::Memory},
    1};

}  // namespace kernelift::tuner
