// See lane_sharing.h.
#include "tuner/source/rules/threads/lane_sharing.h"

#include <clang/AST/Expr.h>
#include <clang/AST/ExprCXX.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "core/model/launch/limits.h"
#include "tuner/source/rules/spelled_type.h"

namespace kernelift::tuner {

LaneSharing::LaneSharing(const KernelSource& source, const RuleContext& facts, int64_t lanes, bool interleaved)
    : source_(source),
      loops_(source, facts),
      count_(std::to_string(lanes)),
      lane_(source.fresh_name("lane")),
      offset_(source.fresh_name("offset")) {
  int64_t rows = kWarpSize / lanes;
  uint64_t group = 0;
  for (int64_t lane = 0; lane < lanes; ++lane) group |= uint64_t{1} << (interleaved ? lane * rows : lane);
  mask_ = "0xffffffffu";
  if (lanes < kWarpSize) {
    mask_ = source.fresh_name("group");
    std::ostringstream bits;
    bits << std::hex << group;
    group_ = "const unsigned " + mask_ + " = 0x" + bits.str() + "u << (threadIdx.x & " +
             std::to_string(interleaved ? rows - 1 : kWarpSize - lanes) + ");";
  }
  offsets_ =
      interleaved
          ? "for (int " + offset_ + " = 16; " + offset_ + " >= " + std::to_string(rows) + "; " + offset_ + " /= 2)"
          : "for (int " + offset_ + " = " + std::to_string(lanes / 2) + "; " + offset_ + " > 0; " + offset_ + " /= 2)";
  barrier_ = "__syncwarp(" + mask_ + ");";
}

LaneSharing LaneSharing::of_block(const KernelSource& source, const RuleContext& facts, int64_t threads) {
  LaneSharing sharing(source, facts, kWarpSize, false);
  sharing.lane_ = source.fresh_name("thread"), sharing.count_ = std::to_string(threads);
  sharing.barrier_ = "__syncthreads();", sharing.warps_ = threads / kWarpSize;
  return sharing;
}

std::string LaneSharing::unused_name(const std::string& stem) {
  std::string name = source_.fresh_name(stem);
  for (int number = 2; !names_.insert(name).second; ++number) name = source_.fresh_name(stem + std::to_string(number));
  return name;
}

std::string LaneSharing::over_warps(const std::string& target, const Reduced& reduced, const std::string& indent) {
  if (warps_ == 1) return {};
  const std::string parts = unused_name(target + "_parts"), warp = source_.fresh_name("warp"),
                    part = parts + "[" + warp + "]", line = "\n" + indent;
  const std::string combined = reduced.how == Reduced::How::Extremum
                                   ? target + " = " + reduced.function + "(" + target + ", " + part + ");"
                                   : target + " += " + part + ";";
  return line + "__shared__ " + spelled_type(source_, reduced.root) + " " + parts + "[" + std::to_string(warps_) +
         "];" + line + "if (" + lane_ + " % 32 == 0) " + parts + "[" + lane_ + " / 32] = " + target + ";" + line +
         barrier_ + line + target + " = " + parts + "[0];" + line + "for (int " + warp + " = 1; " + warp + " < " +
         std::to_string(warps_) + "; ++" + warp + ")" + line + source_.step() + combined + line + barrier_;
}

bool LaneSharing::share_loop(const clang::ForStmt* loop) {
  auto counted = CountedLoop::of(loop);
  auto* outer = source_.parent(loop);
  if (!counted) return false;
  auto begin = source_.span(loop);
  auto end = source_.statement_end(loop);
  auto header = share_iterations(source_, loop, *counted, lane_, count_);
  if (!begin || !end || !header || !outer || !llvm::isa<clang::CompoundStmt>(outer) ||
      !source_.first_on_line(begin->begin))
    return false;
  auto reductions = loops_.reductions(loop, counted->counter);
  if (!reductions) return false;
  for (auto& [target, reduced] : *reductions)
    if (warps_ > 1 && (target != reduced.root->getNameAsString() || spelled_type(source_, reduced.root).empty()))
      return false;
  const bool stores = loops_.writes_memory(loop->getBody());

  std::string indent = source_.indentation(begin->begin), before, after;
  for (auto& [target, reduced] : *reductions) {
    std::string shuffled = "__shfl_xor_sync(" + mask_ + ", " + target + ", " + offset_ + ")";
    std::string combine = "\n" + indent + offsets_ + "\n" + indent + source_.step() + target;
    if (reduced.how == Reduced::How::Extremum) {
      after += combine + " = " + reduced.function + "(" + target + ", " + shuffled + ");";
      after += over_warps(target, reduced, indent);
      continue;
    }
    after += combine + " += " + shuffled + ";" + over_warps(target, reduced, indent);
    if (is_zero_before(source_, loop, reduced.root)) continue;
    std::string stem = target;
    std::replace(stem.begin(), stem.end(), '.', '_');
    const std::string kept = unused_name(stem + "_before");
    before += "auto " + kept + " = " + target + ";\n" + indent + target + " = 0;\n" + indent;
    after += "\n" + indent + target + " = " + kept + " + " + target + ";";
  }
  if (stores) before += barrier_ + "\n" + indent, after += "\n" + indent + barrier_;
  // Before a pragma of the loop.
  size_t place = begin->begin;
  edits_.push_back({place, place, before});
  edits_.insert(edits_.end(), header->begin(), header->end());
  edits_.push_back({*end, *end, after});
  ++shared_loops_;
  return true;
}

/// `out[i] = …` and `*out = …`, where `out` is __restrict__ and nothing reads what it leads to: no lane waits for that.
bool LaneSharing::is_only_stored(const clang::Stmt* statement) const {
  auto* store = llvm::dyn_cast<clang::BinaryOperator>(statement);
  auto base_of = [](const clang::Expr* target) -> const clang::VarDecl* {
    target = target->IgnoreParens();
    if (auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(target)) return named_variable(element->getBase());
    auto* behind = llvm::dyn_cast<clang::UnaryOperator>(target);
    return behind && behind->getOpcode() == clang::UO_Deref ? named_variable(behind->getSubExpr()) : nullptr;
  };
  auto* pointer = store && store->getOpcode() == clang::BO_Assign ? base_of(store->getLHS()) : nullptr;
  if (!llvm::isa_and_nonnull<clang::ParmVarDecl>(pointer) || !pointer->getType().isRestrictQualified()) return false;
  size_t stored = 0, named = 0;
  for (auto* function : source_.functions())
    walk(function->getBody(), [&](const clang::Stmt* inner) {
      auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(inner);
      named += reference && reference->getDecl() == pointer;
      auto* assignment = llvm::dyn_cast<clang::BinaryOperator>(inner);
      stored += assignment && assignment->getOpcode() == clang::BO_Assign && base_of(assignment->getLHS()) == pointer;
      return true;
    });
  return stored == named;
}

bool LaneSharing::store_once(const clang::Stmt* statement) {
  auto range = source_.span(statement);
  auto end = source_.statement_end(statement);
  auto* outer = source_.parent(statement);
  if (!range || !end || !outer || !llvm::isa<clang::CompoundStmt, clang::IfStmt>(outer)) return false;
  // The barriers order the store with the other lanes' reads of the element, before and after it.
  const std::string first = "if (" + lane_ + " == 0) ";
  const bool listed = llvm::isa<clang::CompoundStmt>(outer) && source_.first_on_line(range->begin);
  const std::string line = "\n" + source_.indentation(range->begin);
  if (is_only_stored(statement)) {
    edits_.push_back({range->begin, range->begin, first});
    return true;
  }
  edits_.push_back({range->begin, range->begin, listed ? barrier_ + line + first : "{ " + barrier_ + " " + first});
  edits_.push_back({*end, *end, listed ? line + barrier_ : " " + barrier_ + " }"});
  return true;
}

bool LaneSharing::take_list(const std::vector<const clang::Stmt*>& statements) {
  return std::all_of(statements.begin(), statements.end(), [&](auto* statement) { return take(statement); });
}

bool LaneSharing::take(const clang::Stmt* statement) {
  if (llvm::isa<clang::NullStmt>(statement)) return true;
  if (auto* block = llvm::dyn_cast<clang::CompoundStmt>(statement))
    return take_list({block->body_begin(), block->body_end()});
  if (auto* loop = llvm::dyn_cast<clang::ForStmt>(statement)) return share_loop(loop) || take(loop->getBody());
  if (auto* branch = llvm::dyn_cast<clang::IfStmt>(statement))
    return !loops_.writes_memory(branch->getCond()) && take(branch->getThen()) &&
           (!branch->getElse() || take(branch->getElse()));
  if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement)) {
    for (auto* declared : declaration->decls()) {
      auto* variable = llvm::dyn_cast<clang::VarDecl>(declared);
      if (!variable || !variable->hasLocalStorage()) return false;
    }
    return !loops_.writes_memory(statement);
  }
  if (llvm::isa<clang::Expr>(statement)) {
    if (!loops_.writes_memory(statement)) return true;
    // One lane executes the store, so it must not change a variable of all lanes: `out[count++] = x`.
    auto changed = changed_within(statement);
    return std::none_of(changed.begin(), changed.end(), [](auto* variable) { return variable->hasLocalStorage(); }) &&
           store_once(statement);
  }
  if (llvm::isa<clang::ReturnStmt, clang::ContinueStmt, clang::BreakStmt>(statement)) return true;
  return !loops_.writes_memory(statement) && !llvm::isa<clang::GotoStmt, clang::LabelStmt, clang::AsmStmt>(statement);
}

}  // namespace kernelift::tuner
