// thread_to_warp: a thread that works alone, as the only one of its block,
//   __global__ void total(const float* x, float* out, int n) {  // <<<1, 1>>>
//     float s = 0;
//     for (int i = 0; i < n; ++i) s += x[i];
//     *out = s;
// or as the first of a block, `if (threadIdx.x == 0) { for (int w = 0; w < 32; ++w) s += part[w]; … }`, is joined by
// others: a whole warp, or a whole block where there was one thread. They share the iterations of its loops, shuffles
// (and shared memory, for several warps) combine what they found, all of them execute everything else, and one of them
// stores:
//   const int thread = threadIdx.x;
//   for (int i = thread; i < n; i += 256) s += x[i];  …
//   if (thread == 0) *out = s;
// Sums are rounded in another order; verification decides whether that matters.
#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>

#include <algorithm>

#include "core/model/launch/limits.h"
#include "tuner/source/rules/threads/block_index.h"
#include "tuner/source/rules/threads/lane_sharing.h"

namespace kernelift::tuner {
namespace {

/// Edits after which the kernel's text no longer asks for the number of its thread; nullopt where it does so otherwise.
std::optional<std::vector<TextEdit>> without_thread_numbers(const KernelSource& source, const clang::Stmt* body) {
  std::vector<TextEdit> edits;
  bool plain = true;
  walk(body, [&](const clang::Stmt* statement) {
    auto builtin = builtin_of(statement);
    if (!builtin || (builtin->first != "threadIdx" && builtin->first != "blockDim")) return plain;
    auto place = source.span(statement);
    if (!place || builtin->second == 0 || !is_spelled_builtin(source, statement)) return plain = false;
    edits.push_back({place->begin, place->end, builtin->first == "blockDim" ? "1" : "0"});
    return plain;
  });
  return plain ? std::optional(edits) : std::nullopt;
}

void add_premises(const LaneSharing& sharing, const RuleContext& facts, Opportunity& opportunity) {
  if (!sharing.unaliased().empty()) opportunity.premises.push_back(facts.no_overlap(sharing.unaliased()));
}

/// The only thread of its block.
std::optional<Opportunity> lone_in_block(const KernelSource& source, const RuleContext& facts,
                                         const clang::CompoundStmt* body, int64_t threads) {
  if (has_barrier(body) || source.spelled(body).find("__shared__") != std::string::npos ||
      std::ranges::any_of(facts.geometries, [](auto& geometry) { return geometry.block.count() != 1; }))
    return std::nullopt;
  for (auto* function : source.functions())
    if (!function->hasAttr<clang::CUDAGlobalAttr>())
      if (auto numbers = without_thread_numbers(source, function->getBody()); !numbers || !numbers->empty())
        return std::nullopt;
  auto edits = without_thread_numbers(source, body);
  auto sharing = threads == kWarpSize ? LaneSharing(source, facts, kWarpSize, false)
                                      : LaneSharing::of_block(source, facts, threads);
  auto begin = body->body_empty() ? std::nullopt : source.span(body->body_front());
  if (!edits || !begin || !source.first_on_line(begin->begin) || !sharing.take(body) || sharing.loops() == 0)
    return std::nullopt;
  Opportunity found;
  found.place = std::to_string(sharing.loops()) + (sharing.loops() == 1 ? " loop" : " loops");
  found.summary = std::to_string(threads) + " threads";
  const std::string count = std::to_string(threads), indent = source.indentation(begin->begin);
  found.edits.push_back({begin->begin, begin->begin,
                         "// " + count + " threads do the work of one: each takes one of " + count + " iterations.\n" +
                             indent + "const int " + sharing.lane() + " = threadIdx.x;\n" + indent});
  found.edits.insert(found.edits.end(), edits->begin(), edits->end());
  found.edits.insert(found.edits.end(), sharing.edits().begin(), sharing.edits().end());
  found.launch.emplace(kBlockVariables[0], Expression::constant(threads));
  if (facts.most_threads != 1)
    found.premises.push_back(
        facts.premise(*Expression::parse("blockDim.x == 1 && blockDim.y == 1 && blockDim.z == 1")));
  add_premises(sharing, facts, found);
  return found;
}

/// `threadIdx.x == 0`, also by a variable's name.
bool is_first_thread(const KernelSource& source, const clang::Expr* condition,
                     const std::set<const clang::VarDecl*>& changed) {
  auto* comparison = llvm::dyn_cast<clang::BinaryOperator>(condition->IgnoreParenImpCasts());
  auto is_number = [&](const clang::Expr* value) {
    if (auto* variable = named_variable(value); variable && variable->hasLocalStorage() && variable->getInit() &&
                                                !changed.contains(variable) && !variable->getType()->isReferenceType())
      value = variable->getInit();
    const clang::Stmt* found = nullptr;
    walk(value->IgnoreParenCasts(), [&](const clang::Stmt* inner) {
      if (!found) found = inner;
      return false;
    });
    auto builtin = found ? builtin_of(found) : std::nullopt;
    return builtin && builtin->first == "threadIdx" && builtin->second == 'x';
  };
  auto is_null = [&](const clang::Expr* value) {
    auto* literal = llvm::dyn_cast<clang::IntegerLiteral>(value->IgnoreParenImpCasts());
    return literal && literal->getValue() == 0;
  };
  return comparison && comparison->getOpcode() == clang::BO_EQ &&
         ((is_number(comparison->getLHS()) && is_null(comparison->getRHS())) ||
          (is_number(comparison->getRHS()) && is_null(comparison->getLHS())));
}

/// The first thread of its block, in a branch of its own.
std::optional<Opportunity> first_of_block(const KernelSource& source, const RuleContext& facts, const clang::Stmt* body,
                                          const clang::IfStmt* branch, const std::set<const clang::VarDecl*>& changed) {
  auto* block = llvm::dyn_cast<clang::CompoundStmt>(branch->getThen());
  auto condition = source.span(branch->getCond()), whole = source.span(branch);
  auto begin = !block || block->body_empty() ? std::nullopt : source.span(block->body_front());
  if (!begin || !condition || !whole || branch->getElse() || branch->getInit() || branch->hasVarStorage() ||
      has_barrier(block) || !source.first_on_line(begin->begin) || !is_first_thread(source, branch->getCond(), changed))
    return std::nullopt;
  // A branch within another condition, or a loop, is not reached by the whole warp.
  if (source.parent(branch) != body) return std::nullopt;
  bool leaves = false;
  walk(body, [&](const clang::Stmt* inner) { return !(leaves |= llvm::isa<clang::ReturnStmt>(inner)); });
  if (leaves) return std::nullopt;
  std::set<const clang::VarDecl*> own;
  walk(block, [&](const clang::Stmt* inner) {
    if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(inner))
      for (auto* declared : declaration->decls()) own.insert(llvm::dyn_cast<clang::VarDecl>(declared));
    return true;
  });
  bool uniform = true;
  walk(block, [&](const clang::Stmt* inner) {
    if (auto builtin = builtin_of(inner)) return uniform &= builtin->first != "threadIdx", uniform;
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(inner);
    auto* variable = reference ? llvm::dyn_cast<clang::VarDecl>(reference->getDecl()) : nullptr;
    if (variable && variable->hasLocalStorage() && !own.contains(variable))
      uniform &= is_uniform_in_block(reference, changed);
    return uniform;
  });
  LaneSharing sharing(source, facts, kWarpSize, false);
  if (!uniform || !sharing.take(block) || sharing.loops() == 0) return std::nullopt;
  Opportunity found;
  found.place = std::to_string(sharing.loops()) + (sharing.loops() == 1 ? " loop" : " loops") + " of the first thread";
  const std::string indent = source.indentation(begin->begin);
  found.edits.push_back({condition->begin, condition->end, "threadIdx.x < 32"});
  found.edits.push_back({begin->begin, begin->begin,
                         "// A warp does the work of one thread: each lane takes one of 32 iterations.\n" + indent +
                             "const int " + sharing.lane() + " = threadIdx.x;\n" + indent});
  found.edits.insert(found.edits.end(), sharing.edits().begin(), sharing.edits().end());
  if (!facts.whole_warps) found.premises.push_back(facts.premise(*Expression::parse("blockDim.x % 32 == 0")));
  add_premises(sharing, facts, found);
  return found;
}

std::vector<Opportunity> find_thread_to_warp(const KernelSource& source, const RuleContext& facts,
                                             const Bindings& values) {
  auto* kernel = source.kernel(facts.kernel);
  auto* body = kernel ? llvm::dyn_cast<clang::CompoundStmt>(kernel->getBody()) : nullptr;
  if (!body || facts.hip || facts.geometries.empty() || !kernel->getReturnType()->isVoidType() ||
      kernel->hasAttr<clang::CUDALaunchBoundsAttr>() || keeps_addresses(source, body))
    return {};
  const int64_t threads = values.at("threads");
  std::vector<Opportunity> found;
  auto add = [&](std::optional<Opportunity> one) {
    // Edits of one place by two changes are none.
    if (one && apply_edits(source.text(), one->edits)) found.push_back(std::move(*one));
  };
  add(lone_in_block(source, facts, body, threads));
  if (threads != kWarpSize || facts.whole_warps == false ||
      std::ranges::any_of(facts.geometries, [](auto& geometry) { return geometry.block.x % kWarpSize != 0; }))
    return found;
  const auto changed = reassigned(body);
  for (auto* statement : body->body())
    if (auto* branch = llvm::dyn_cast<clang::IfStmt>(statement))
      add(first_of_block(source, facts, body, branch, changed));
  return found;
}

}  // namespace

const Rule kThreadToWarp = {
    "thread_to_warp",
    "let a warp, or a block, do the work of a thread that works alone",
    "CUDA; a block of one thread, or a branch of the block's first thread in blocks of whole warps; loops that compute "
    "sums or extrema, or write one element per iteration",
    {{"threads", {256, 32, 1024}}},
    find_thread_to_warp,
    {Bound::Latency, Bound::Memory},
    1.2,
    true};

}  // namespace kernelift::tuner
