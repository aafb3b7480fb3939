// register_privatisation: every atomic addition is a round trip to the memory system, and those to one address happen
// one after the other. A thread that adds to one address in every iteration of a loop gathers its part in a register:
//   for (int i = …; i < n; i += stride) atomicAdd(total, x[i]);
// becomes
//   float total_part = 0;
//   for (int i = …; i < n; i += stride) total_part += x[i];
//   if (… < n) atomicAdd(total, total_part);
// A thread without iterations leaves the memory alone, as it did. Where values in memory decide whether it adds
// anything, a flag says so: `(total_part += x[i], total_adds = true)`.
#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>

#include <algorithm>

#include "tuner/source/rules/loop_range.h"
#include "tuner/source/rules/sums/private_sums.h"
#include "tuner/source/rules/threads/block_index.h"

namespace kernelift::tuner {

std::string added_type(const KernelSource& source, clang::QualType type) {
  type = type.getCanonicalType().getUnqualifiedType();
  if (!type->isBuiltinType()) return {};
  const std::string name = type.getAsString(source.context().getPrintingPolicy());
  for (const char* known : {"int", "unsigned int", "unsigned long long", "float", "double"})
    if (name == known) return name;
  return {};
}

namespace {

/// The condition depends on positions and sizes alone, by its text.
bool is_of_positions(const clang::Expr* condition, const std::set<const clang::VarDecl*>& assigned) {
  return !accesses_memory({condition}) && std::ranges::all_of(variables_in(condition), [&](auto* variable) {
    return llvm::isa<clang::ParmVarDecl>(variable) ||
           (variable->getInit() && !accesses_memory({variable->getInit()}) && !assigned.contains(variable));
  });
}

/// Whether values in memory decide if a thread adds anything, so that it may have to leave the memory alone.
bool depends_on_values(const KernelSource& source, const clang::Stmt* addition,
                       const std::vector<const clang::Stmt*>& repeated) {
  std::set<const clang::VarDecl*> assigned;
  bool leaves = false;
  for (auto* statement : repeated)
    walk(statement, [&](const clang::Stmt* inner) {
      auto* set = llvm::dyn_cast<clang::BinaryOperator>(inner);
      if (set && set->getOpcode() == clang::BO_Assign) assigned.insert(variable_of(set->getLHS()));
      leaves |= llvm::isa<clang::ContinueStmt, clang::BreakStmt>(inner);
      return true;
    });
  auto decides = [&](const clang::Expr* condition) { return condition && !is_of_positions(condition, assigned); };
  for (auto* statement : repeated)
    if (auto* guard = llvm::dyn_cast<clang::IfStmt>(statement);
        guard && only_returns(guard->getThen()) && decides(guard->getCond()))
      return true;
  if (leaves) return true;
  for (const clang::Stmt* up = source.parent(addition); up; up = source.parent(up)) {
    if (auto* branch = llvm::dyn_cast<clang::IfStmt>(up); branch && decides(branch->getCond())) return true;
    if (auto* loop = llvm::dyn_cast<clang::ForStmt>(up); loop && decides(loop->getCond())) return true;
    if (llvm::isa<clang::WhileStmt, clang::DoStmt, clang::SwitchStmt, clang::ConditionalOperator>(up)) return true;
  }
  return false;
}

}  // namespace

PrivateSums PrivateSums::of(const KernelSource& source, const std::vector<const clang::Stmt*>& repeated,
                            const std::set<const clang::VarDecl*>& changed, const std::string& indent,
                            const std::optional<std::string>& has_work) {
  struct Sum {
    std::string address, type, name, adds;
    const clang::VarDecl* memory = nullptr;
    size_t mentions = 0;
    bool by_values = true;  ///< Of all its additions.
    std::vector<TextEdit> edits, flagged;
  };
  std::vector<Sum> sums;
  std::map<const clang::VarDecl*, size_t> mentions;
  auto count = [&](const clang::Stmt* inner) {
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(inner);
    if (auto* variable = reference ? llvm::dyn_cast<clang::VarDecl>(reference->getDecl()) : nullptr)
      ++mentions[variable];
    return true;
  };
  auto take = [&](const clang::Stmt* inner) {
    auto* call = llvm::dyn_cast<clang::CallExpr>(inner);
    auto place = call ? source.span(call) : std::nullopt;
    if (!place || call->getNumArgs() != 2 || source.spelled(call->getCallee()) != "atomicAdd" ||
        !source.value_is_unused(call))
      return true;
    auto* address = call->getArg(0)->IgnoreParenImpCasts();
    const std::string spelled = source.spelled(address), value = source.spelled(call->getArg(1));
    const clang::QualType to = call->getArg(0)->getType();
    const std::string type = to->isPointerType() ? added_type(source, to->getPointeeType()) : "";
    const bool fraction = call->getArg(1)->IgnoreParenImpCasts()->getType()->isFloatingType();
    const clang::VarDecl* memory = nullptr;
    for (auto* variable : variables_in(address))
      if (variable->getType()->isPointerType()) memory = variable;
    // `&count[2]`: the address is the same although an element is no plain value.
    auto* taken = llvm::dyn_cast<clang::UnaryOperator>(address);
    auto* element = taken && taken->getOpcode() == clang::UO_AddrOf
                        ? llvm::dyn_cast<clang::ArraySubscriptExpr>(taken->getSubExpr()->IgnoreParens())
                        : nullptr;
    const bool same = element ? is_invariant(element->getBase(), changed) && is_invariant(element->getIdx(), changed)
                              : is_invariant(address, changed);
    if (!same || !memory || !llvm::isa<clang::ParmVarDecl>(memory) || type.empty() || spelled.empty() ||
        value.empty() || (fraction && to->getPointeeType()->isIntegerType()))
      return true;
    auto known = std::ranges::find(sums, squeezed(spelled), [](auto& sum) { return squeezed(sum.address); });
    if (known == sums.end()) {
      auto unused = [&](const std::string& end) {
        const std::string stem = memory->getNameAsString() + end;
        std::string name = source.fresh_name(stem);
        auto taken = [&](auto& sum) { return sum.name == name || sum.adds == name; };
        for (int number = 2; std::ranges::any_of(sums, taken); ++number)
          name = source.fresh_name(stem + std::to_string(number));
        return name;
      };
      sums.push_back({.address = spelled,
                      .type = type,
                      .name = unused("_part"),
                      .adds = unused("_adds"),
                      .memory = memory,
                      .edits = {},
                      .flagged = {}});
      known = sums.end() - 1;
    }
    known->by_values &= depends_on_values(source, call, repeated);
    walk(address, [&](const clang::Stmt* part) {
      auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(part);
      known->mentions += reference && reference->getDecl() == memory;
      return true;
    });
    known->edits.push_back({place->begin, place->end, known->name + " += " + value});
    known->flagged.push_back(
        {place->begin, place->end, "(" + known->name + " += " + value + ", " + known->adds + " = true)"});
    return true;
  };
  bool fenced = false;  // Others may wait for what was added before.
  for (auto* statement : repeated)
    walk(statement, [&](const clang::Stmt* inner) {
      auto* call = llvm::dyn_cast<clang::CallExpr>(inner);
      return !(fenced |= call && source.spelled(call->getCallee()).starts_with("__threadfence"));
    });
  if (fenced) return {};
  for (auto* statement : repeated) walk(statement, count), walk(statement, take);
  PrivateSums found;
  for (auto& sum : sums) {
    size_t own = 0;
    for (auto& other : sums) own += other.memory == sum.memory ? other.mentions : 0;
    if (own != mentions[sum.memory]) continue;
    const bool flags = sum.by_values || !has_work;
    const std::string condition = flags ? sum.adds : *has_work;
    found.before += sum.type + " " + sum.name + " = 0;\n" + indent;
    if (flags) found.before += "bool " + sum.adds + " = false;\n" + indent;
    found.after += indent + (condition.empty() ? "" : "if (" + condition + ") ") + "atomicAdd(" + sum.address + ", " +
                   sum.name + ");\n";
    auto& edits = flags ? sum.flagged : sum.edits;
    found.edits.insert(found.edits.end(), edits.begin(), edits.end());
  }
  return found;
}

namespace {

std::vector<Opportunity> find_register_privatisation(const KernelSource& source, const RuleContext& facts,
                                                     const Bindings&) {
  auto* kernel = source.kernel(facts.kernel);
  if (!kernel) return {};
  std::vector<Opportunity> found;
  for (auto* loop : loops_in(kernel)) {
    auto* outer = source.parent(loop);
    auto begin = source.span(loop);
    auto end = source.statement_end(loop);
    bool leaves = false;
    walk(loop, [&](const clang::Stmt* inner) {
      return !(leaves |= llvm::isa<clang::ReturnStmt, clang::GotoStmt, clang::AsmStmt>(inner));
    });
    if (!begin || !end || leaves || has_barrier(loop) || !llvm::isa_and_nonnull<clang::CompoundStmt>(outer) ||
        !source.first_on_line(begin->begin))
      continue;
    auto range = LoopRange::of(loop);
    std::optional<std::string> has_work = has_iterations(source, loop);
    if (range && surely_iterates(source, *range)) has_work = "";
    else if (has_work->empty()) has_work.reset();
    auto sums = PrivateSums::of(source, {loop}, changed_within(loop), source.indentation(begin->begin), has_work);
    if (sums.edits.empty()) continue;
    Opportunity opportunity;
    opportunity.place = source.name(loop);
    opportunity.edits = std::move(sums.edits);
    opportunity.edits.push_back({begin->begin, begin->begin, sums.before});
    sums.after.pop_back();
    opportunity.edits.push_back({*end, *end, "\n" + sums.after});
    found.push_back(std::move(opportunity));
  }
  return found;
}

}  // namespace

const Rule kRegisterPrivatisation = {
    "register_privatisation",
    "gather a thread's atomic additions in a register",
    "atomicAdd in a loop, whose result is not used, on an address that stays the same; nothing else there names the "
    "memory",
    {},
    find_register_privatisation,
    {Bound::Memory, Bound::Latency},
    0.5};

}  // namespace kernelift::tuner
