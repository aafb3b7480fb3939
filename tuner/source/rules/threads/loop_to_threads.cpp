// loop_to_threads: each iteration of a loop whose iterations are independent gets a thread of its own, along an axis
// that the kernel does not use:
//   for (int j = i + 1; j < n; j++) { … c[i * n + j] = …; }
// becomes, with as many rows of blocks as the launch has threads along x,
//   const int j = blockIdx.y * blockDim.y + threadIdx.y;
//   if (i < j && j < n) { … c[i * n + j] = …; }
// Neighbouring iterations then run side by side, and the kernel has the form of one output per thread, which tiling
// needs. It is right for launches whose threads along x are as many as the loop has iterations, as where rows and
// columns of a square are meant: a premise. What the kernel stores beside the loop is stored by the thread of the first
// iteration; that there is one wherever it matters is asked of the kernel's model and of runs.
#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>
#include <clang/AST/Stmt.h>

#include <algorithm>
#include <set>

#include "core/model/launch/limits.h"
#include "tuner/source/rules/spelled_type.h"
#include "tuner/source/rules/threads/block_index.h"
#include "tuner/source/rules/threads/independent_loop.h"
#include "tuner/source/rules/tiling/tile_dependence.h"

namespace kernelift::tuner {
namespace {

constexpr uint64_t kMostRows = kLargestGrid.y;
constexpr const char* kThreads = "gridDim.x * blockDim.x";

class LoopToThreads {
 public:
  LoopToThreads(const KernelSource& source, const RuleContext& facts, const clang::FunctionDecl* kernel,
                const IndependentLoop& loop)
      : source_(source), facts_(facts), kernel_(kernel), of_(loop), counter_(loop.counted.counter) {
    changes_.note_changes(kernel->getBody());
  }

  std::optional<Opportunity> opportunity();

 private:
  /// Iterations before the first thread's would be lost; unless these parameters are not negative.
  bool may_be_negative(const clang::Expr* value, std::set<std::string>& parameters) const;
  /// Launches for which the threads along x are as many as there are iterations; nullopt: they cannot be told.
  std::optional<Premise> premise() const;
  /// Of the thread, in place of the loop's header.
  std::string condition() const;
  /// The statements beside the loop, which go to the thread of the first iteration; false: they cannot.
  bool move_stores(std::string& moved);
  /// A statement, with its line if nothing else is on it.
  void remove(size_t begin, size_t end);
  /// The counter's declaration, where it serves this loop alone.
  bool remove_declaration();

  const KernelSource& source_;
  const RuleContext& facts_;
  const clang::FunctionDecl* kernel_;
  const IndependentLoop& of_;
  const clang::VarDecl* counter_;
  TileDependence changes_;  ///< Variables that the kernel changes after their declaration.
  std::vector<TextEdit> edits_;
};

bool LoopToThreads::may_be_negative(const clang::Expr* value, std::set<std::string>& parameters) const {
  value = value->IgnoreParenCasts();
  if (auto number = constant_value(source_, value)) return *number < 0;
  if (auto* sum = llvm::dyn_cast<clang::BinaryOperator>(value))
    return (sum->getOpcode() != clang::BO_Add && sum->getOpcode() != clang::BO_Mul) ||
           may_be_negative(sum->getLHS(), parameters) || may_be_negative(sum->getRHS(), parameters);
  if (builtin_of(value)) return false;
  auto* variable = named_variable(value);
  if (!variable || changes_.changes(variable)) return true;
  if (auto* parameter = llvm::dyn_cast<clang::ParmVarDecl>(variable)) {
    parameters.insert(parameter->getNameAsString());
    return false;
  }
  return !variable->getInit() || may_be_negative(variable->getInit(), parameters);
}

std::optional<Premise> LoopToThreads::premise() const {
  auto* comparison = llvm::cast<clang::BinaryOperator>(of_.loop->getCond());
  const bool included = comparison->getOpcode() == clang::BO_LE;
  auto* bound = comparison->getRHS()->IgnoreParenImpCasts();
  std::string name;
  if (auto number = constant_value(source_, bound)) {
    for (auto& geometry : facts_.geometries)
      if (static_cast<int64_t>(geometry.grid.x * geometry.block.x) < *number + included) return std::nullopt;
    name = std::to_string(*number);
  } else if (auto* parameter = llvm::dyn_cast_or_null<clang::ParmVarDecl>(named_variable(bound));
             parameter && !changes_.changes(parameter)) {
    name = parameter->getNameAsString();
  } else {
    return std::nullopt;
  }
  return facts_.premise(*Expression::parse(name + (included ? " < " : " <= ") + kThreads));
}

std::string LoopToThreads::condition() const {
  auto* first = of_.counted.first->IgnoreImpCasts();
  const std::string name = counter_->getNameAsString(), spelled = source_.spelled(of_.counted.first);
  auto* sum = llvm::dyn_cast<clang::BinaryOperator>(first->IgnoreParens());
  auto* left = sum && sum->getOpcode() == clang::BO_Add ? named_variable(sum->getLHS()) : nullptr;
  std::string from = spelled + " <= " + name + " && ";
  if (constant_value(source_, first) == 0) from.clear();
  else if (left && constant_value(source_, sum->getRHS()) == 1) from = left->getNameAsString() + " < " + name + " && ";
  return from + source_.spelled(of_.loop->getCond());
}

void LoopToThreads::remove(size_t begin, size_t end) {
  const bool alone = source_.first_on_line(begin) && end < source_.text().size() && source_.text()[end] == '\n';
  edits_.push_back({alone ? source_.line_begin(begin) : begin, end + alone, ""});
}

bool LoopToThreads::move_stores(std::string& moved) {
  auto* block = llvm::dyn_cast<clang::CompoundStmt>(source_.parent(of_.loop));
  const std::string first = source_.spelled(of_.counted.first),
                    inner = source_.indentation(source_.span(of_.loop)->begin) + source_.step();
  for (auto* statement : of_.stores_beside) {
    auto end = source_.statement_end(statement);
    const bool sibling = block && std::ranges::count(block->body(), statement) > 0;
    if (!sibling || !end) return false;
    // It sees the same values there.
    const auto read = variables_in(statement);
    bool later = false;
    for (auto* other : block->body()) {
      if (later)
        for (auto* changed : changed_within(other))
          if (read.contains(changed)) return false;
      later |= other == statement;
    }
    const size_t begin = source_.span(statement)->begin;
    moved += "\n" + inner + "if (" + counter_->getNameAsString() + " == " + first + ") " +
             source_.text().substr(begin, *end - begin);
    remove(begin, *end);
  }
  return true;
}

bool LoopToThreads::remove_declaration() {
  bool elsewhere = false;
  const clang::DeclStmt* declaration = nullptr;
  walk(kernel_->getBody(), [&](const clang::Stmt* statement) {
    auto* declares = llvm::dyn_cast<clang::DeclStmt>(statement);
    if (declares && std::ranges::count(declares->decls(), counter_)) declaration = declares;
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement);
    elsewhere |= reference && reference->getDecl() == counter_;
    return statement != of_.loop && !elsewhere;
  });
  if (elsewhere || !declaration || counter_->getInit()) return false;
  auto range = source_.span(declaration);
  auto end = source_.statement_end(declaration);
  if (!range || !end) return false;
  if (declaration->isSingleDecl()) {
    remove(range->begin, *end);
    return true;
  }
  // `int i, j;`: with the comma before it, or behind it.
  auto begin_of = [&](const clang::Decl* declared) { return source_.offset(declared->getLocation()); };
  auto at = begin_of(counter_);
  if (!at) return false;
  const std::string_view text = source_.text();
  if (*declaration->decl_begin() == counter_) {
    const size_t comma = text.find(',', *at), next = text.find_first_not_of(" \t\n", comma + 1);
    if (comma > *end || next > *end || text[next] == '*') return false;
    edits_.push_back({*at, next, ""});
  } else {
    const size_t comma = text.rfind(',', *at);
    if (comma == text.npos || comma < range->begin) return false;
    edits_.push_back({comma, *at + counter_->getNameAsString().size(), ""});
  }
  return true;
}

std::optional<Opportunity> LoopToThreads::opportunity() {
  const auto needed = premise();
  const std::string type = spelled_type(source_, counter_);
  auto range = source_.span(of_.loop), body = source_.span(of_.loop->getBody());
  auto end = source_.statement_end(of_.loop);
  std::set<std::string> not_negative;
  if (!needed || of_.counted.step || type.empty() || !range || !body || !end || !source_.first_on_line(range->begin) ||
      may_be_negative(of_.counted.first, not_negative) || source_.spelled(of_.counted.first).empty() ||
      source_.spelled(of_.loop->getCond()).empty())
    return std::nullopt;
  auto* parent = llvm::dyn_cast<clang::CompoundStmt>(source_.parent(of_.loop));
  const bool in_header = llvm::isa_and_nonnull<clang::DeclStmt>(of_.loop->getInit());
  const bool braced = !parent || (!in_header && !remove_declaration());
  std::string moved;
  if (!move_stores(moved)) return std::nullopt;
  const std::string outer = source_.indentation(range->begin), indent = braced ? outer + source_.step() : outer;
  std::string header = braced ? "{\n" + indent : "";
  header += "const " + type + " " + counter_->getNameAsString() + " = blockIdx.y * blockDim.y + threadIdx.y;\n" +
            indent + "if (" + condition() + ") ";
  const bool block = llvm::isa<clang::CompoundStmt>(of_.loop->getBody());
  std::string tail;
  if (block) {
    edits_.push_back({body->begin + 1, body->begin + 1, moved});
  } else if (!moved.empty()) {
    header += "{" + moved + "\n" + outer + source_.step();
    tail = "\n" + outer + "}";
  }
  if (braced) tail += "\n" + outer + "}";
  edits_.push_back({range->begin, body->begin, header});
  if (!tail.empty()) edits_.push_back({*end, *end, tail});
  Opportunity found;
  found.place = source_.name(of_.loop);
  found.summary = "a thread for each iteration, along y";
  found.edits = std::move(edits_);
  found.premises = {*needed,
                    facts_.premise(*Expression::parse(std::string(kThreads) + " <= " + std::to_string(kMostRows)))};
  for (auto& name : not_negative) found.premises.push_back(facts_.premise(*Expression::parse(name + " >= 0")));
  found.launch.emplace("gy", Expression::variable("gx") * Expression::variable("bx"));
  return found;
}

std::vector<Opportunity> find_loop_to_threads(const KernelSource& source, const RuleContext& facts, const Bindings&) {
  auto* kernel = source.kernel(facts.kernel);
  if (!kernel || facts.geometries.empty() || !has_separate_threads(source, kernel) ||
      idle_axis(source, facts, kernel->getBody()) != 1)
    return {};
  for (auto& geometry : facts.geometries)
    if (geometry.grid.x * uint64_t(geometry.block.x) > kMostRows) return {};
  std::vector<Opportunity> found;
  for (auto* loop : loops_in(kernel)) {
    auto independent = IndependentLoop::of(source, facts, loop, kernel->getBody());
    if (!independent || has_few_iterations(source, loop, 32)) continue;
    if (auto opportunity = LoopToThreads(source, facts, kernel, *independent).opportunity())
      found.push_back(std::move(*opportunity));
  }
  return found;
}

}  // namespace

const Rule kLoopToThreads = {
    "loop_to_threads",
    "give each iteration of a loop a thread of its own",
    "a loop outside of others that counts up by one, carries no value from one iteration to the next and stores one or "
    "more elements in each; its bound is a number or a parameter; no use of the y axis, no barriers or shared memory",
    {},
    find_loop_to_threads,
    {Bound::Latency, Bound::Unknown},
    1.5,
    true};

}  // namespace kernelift::tuner
