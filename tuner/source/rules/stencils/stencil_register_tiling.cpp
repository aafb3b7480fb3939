// stencil_register_tiling: neighbouring threads of a stencil read the same elements,
//   int i = blockIdx.y * blockDim.y + threadIdx.y;
//   if (i > 0 && i < n - 1) out[i * n + j] = a[(i - 1) * n + j] + a[i * n + j] + a[(i + 1) * n + j];
// Each thread computes several consecutive rows (or planes), and keeps what these share in registers:
//   const int i_first = (blockIdx.y * blockDim.y + threadIdx.y) * 4 + 1;
//   float a_rows[6];
//   for (u = 0; u < 4; ++u) if (i_first + u < n - 1) a_rows[u + 2] = a[(i + 1) * n + j];
//   for (u = 0; u < 4; ++u) if (i_first + u < n - 1) out[i * n + j] = a_rows[u] + a_rows[u + 1] + a_rows[u + 2];
// Of many rows only those that one output needs are kept, in a window that slides along (in 3-D: 2.5-D streaming).
// Every load is one that the original makes for the same row, and no guard is written twice: a lower bound becomes the
// first row, upper bounds are asked of each row. Threads of a kernel without barriers are not ordered, so one thread
// may do the work of several in any order.
#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>
#include <clang/AST/ExprCXX.h>

#include <algorithm>

#include "tuner/source/rules/spelled_type.h"
#include "tuner/source/rules/stencils/register_window.h"
#include "tuner/source/rules/threads/axis_dependence.h"
#include "tuner/source/rules/threads/block_index.h"
#include "tuner/source/rules/threads/jammed_copies.h"

namespace kernelift::tuner {
namespace {

constexpr int64_t kRowsAtOnce = 8;     ///< More rows slide through a window.
constexpr size_t kMostValues = 64;     ///< Of a thread, in registers.
constexpr size_t kLongestWork = 6000;  ///< Characters.
constexpr const char* kWhat[] = {"columns", "rows", "planes"};

class RowTiler {
 public:
  RowTiler(const KernelSource& source, const RuleContext& facts, const clang::FunctionDecl* kernel,
           const GlobalIndex& index, int64_t rows)
      : source_(source),
        facts_(facts),
        kernel_(kernel),
        body_(llvm::cast<clang::CompoundStmt>(kernel->getBody())),
        index_(index),
        rows_(rows),
        sums_(source, body_, index.variable),
        depends_(source, {{rows, index.variable}}) {}

  std::optional<Opportunity> run();
  /// Why the kernel looks like a stencil and is left alone; else empty.
  const std::string& why_not() const { return why_not_; }
  /// A condition keeps the index in bounds, so that there may be more threads.
  bool bounded() const { return !upper_.empty(); }

 private:
  using Statements = std::vector<const clang::Stmt*>;
  std::nullopt_t give_up(const std::string& why) {
    why_not_ = why;
    return std::nullopt;
  }
  bool find_parts();
  bool add_guard(const clang::IfStmt* guard, bool leaves);
  bool read_bounds();
  bool is_lower_bound(const clang::Expr* condition, bool leaves);
  /// The work can be repeated for each row as it is.
  std::string work_is_fit() const;
  bool stores_stay_apart(std::set<std::string>& apart) const;
  std::string block(const std::string& indent, const std::vector<TextEdit>& edits) const;
  std::string needed_declarations(const std::string& indent, const Statements& by, bool all) const;
  std::string rows_loop(const std::string& indent, const std::function<std::string(const std::string&)>& content) const;
  std::string text(const std::string& indent) const;

  const KernelSource& source_;
  const RuleContext& facts_;
  const clang::FunctionDecl* kernel_;
  const clang::CompoundStmt* body_;
  const GlobalIndex& index_;
  const int64_t rows_;
  IndexSums sums_;
  AxisDependence depends_;
  std::string why_not_;

  struct Part {
    const clang::Expr* condition;
    bool leaves;
  };
  std::vector<const clang::IfStmt*> leaving_;  ///< `if (i >= n || j >= n) return;`
  const clang::IfStmt* around_ = nullptr;      ///< The guard that contains the work.
  Statements moved_;                           ///< Declarations in front of the work that depend on the index.
  Statements work_;
  std::vector<Part> upper_;
  std::string first_;  ///< The lower bound; empty: 0.
  std::optional<RegisterWindows> windows_;
  std::string counter_, other_counter_, first_name_, head_;
};

/// Splits the kernel's statements behind the index into guards, declarations and the work.
bool RowTiler::find_parts() {
  Statements statements(body_->body_begin(), body_->body_end());
  auto at = std::find(statements.begin(), statements.end(), index_.statement);
  statements.erase(statements.begin(), at + 1);
  std::set<const clang::IfStmt*> guards;
  auto guard_of = [&](const clang::Stmt* statement, bool last) -> const clang::IfStmt* {
    auto* branch = llvm::dyn_cast<clang::IfStmt>(statement);
    const bool plain = branch && !branch->getElse() && !branch->hasVarStorage() && !branch->getInit() &&
                       is_invariant(branch->getCond(), {});
    return plain && (last || only_returns(branch->getThen())) ? branch : nullptr;
  };
  size_t begin = 0;
  for (size_t i = 0; i < statements.size(); ++i)
    if (auto* guard = guard_of(statements[i], i + 1 == statements.size())) {
      guards.insert(guard);
      (only_returns(guard->getThen()) ? leaving_.emplace_back() : around_) = guard;
      begin = i + 1;
    }
  depends_.propagate(statements, guards);
  for (auto* guard : guards)
    for (auto* variable : variables_in(guard->getCond()))
      if (variable != index_.variable && depends_.dependents().contains(variable)) return false;
  for (size_t i = 0; i < begin; ++i) {
    auto* branch = llvm::dyn_cast<clang::IfStmt>(statements[i]);
    if (guards.contains(branch) || !depends_.axes_of(statements[i])) continue;
    if (!llvm::isa<clang::DeclStmt>(statements[i]) || accesses_memory({statements[i]})) return false;
    moved_.push_back(statements[i]);
  }
  if (around_) {
    auto* block = llvm::dyn_cast<clang::CompoundStmt>(around_->getThen());
    if (block) work_.assign(block->body_begin(), block->body_end());
    else work_ = {around_->getThen()};
  } else {
    work_.assign(statements.begin() + static_cast<std::ptrdiff_t>(begin), statements.end());
    // What is the same for all rows stays in front.
    while (!work_.empty() && !depends_.axes_of(work_.front()) && !accesses_memory({work_.front()}))
      work_.erase(work_.begin());
  }
  return !work_.empty();
}

bool RowTiler::is_lower_bound(const clang::Expr* condition, bool leaves) {
  auto* comparison = llvm::dyn_cast<clang::BinaryOperator>(condition->IgnoreParenImpCasts());
  if (!comparison || !comparison->isComparisonOp()) return false;
  auto operation =
      leaves ? clang::BinaryOperator::negateComparisonOp(comparison->getOpcode()) : comparison->getOpcode();
  const clang::Expr* bound = comparison->getRHS();
  if (named_variable(comparison->getLHS()) != index_.variable) {
    if (named_variable(bound) != index_.variable) return false;
    bound = comparison->getLHS(), operation = clang::BinaryOperator::reverseComparisonOp(operation);
  }
  auto variables = variables_in(bound);
  auto declared = source_.offset(index_.statement->getBeginLoc());
  for (auto* variable : variables) {
    auto place = source_.offset(variable->getLocation());
    if (!llvm::isa<clang::ParmVarDecl>(variable) &&
        (sums_.changes(variable) || !place || !declared || *place > *declared))
      return false;
  }
  clang::Expr::EvalResult value;
  const bool number = !bound->isValueDependent() && bound->EvaluateAsInt(value, source_.context());
  int64_t first = number ? value.Val.getInt().getExtValue() : 0;
  // The index is never negative: `i != 0` is `i > 0`.
  if (operation == clang::BO_NE && number && first == 0) operation = clang::BO_GT;
  if ((operation != clang::BO_GT && operation != clang::BO_GE) || !first_.empty()) return false;
  first += operation == clang::BO_GT;
  if (number && first <= 0) return true;
  const std::string text = source_.spelled(bound);
  if (text.empty()) return false;
  const bool name = llvm::isa<clang::DeclRefExpr, clang::IntegerLiteral>(bound->IgnoreParenImpCasts());
  first_ = number && llvm::isa<clang::IntegerLiteral>(bound->IgnoreParenImpCasts())
               ? std::to_string(first)
               : (name ? text : "(" + text + ")") + (operation == clang::BO_GT ? " + 1" : "");
  return true;
}

bool RowTiler::read_bounds() {
  auto read = [&](const clang::IfStmt* guard, bool leaves) {
    return std::ranges::all_of(parts_of_guard(guard->getCond(), leaves), [&](auto* part) {
      if (!depends_.axes_of(part)) return true;
      if (depends_.bounds(part, leaves)) return upper_.push_back({part, leaves}), true;
      return is_lower_bound(part, leaves);
    });
  };
  return std::ranges::all_of(leaving_, [&](auto* guard) { return read(guard, true); }) &&
         (!around_ || read(around_, false));
}

std::string RowTiler::work_is_fit() const {
  bool jumps = false;
  std::set<const clang::VarDecl*> own;
  for (auto* statements : {&moved_, &work_})
    for (auto* statement : *statements)
      walk(statement, [&](const clang::Stmt* inner) {
        jumps |=
            llvm::isa<clang::ReturnStmt, clang::GotoStmt, clang::LabelStmt, clang::AsmStmt, clang::LambdaExpr>(inner);
        if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(inner))
          for (auto* declared : declaration->decls())
            if (auto* variable = llvm::dyn_cast<clang::VarDecl>(declared)) own.insert(variable);
        return true;
      });
  if (jumps) return "the thread returns, or jumps, in the middle of it";
  for (auto* statement : work_)
    for (auto* variable : changed_within(statement))
      if (variable->hasLocalStorage() && !own.contains(variable))
        return "`" + variable->getNameAsString() + "`, which it changes, is declared outside of it";
  for (auto* statements : {&moved_, &work_})
    for (auto* statement : *statements) {
      auto span = source_.span(statement);
      if (!span || !source_.first_on_line(span->begin)) return "a line has several statements, or a macro spells one";
      if (source_.text().substr(span->begin, span->end - span->begin).find('#') != std::string::npos)
        return "it contains directives";
    }
  return {};
}

/// Values are kept while other rows are stored. Only where a store comes before a read of the same row has the order a
/// meaning, and then they have to be apart.
bool RowTiler::stores_stay_apart(std::set<std::string>& apart) const {
  std::set<std::string> stored;
  bool store_before = false;
  const auto reads = windows_->reads();
  for (auto* statement : work_) {
    walk(statement, [&](const clang::Stmt* inner) {
      store_before |= !stored.empty() && std::ranges::find(reads, inner) != reads.end();
      return true;
    });
    walk(statement, [&](const clang::Stmt* inner) {
      auto* target = assigned_by(inner);
      auto* element = target ? llvm::dyn_cast<clang::ArraySubscriptExpr>(target->IgnoreParens()) : nullptr;
      auto* array = element ? named_variable(element->getBase()) : nullptr;
      auto* call = llvm::dyn_cast<clang::CallExpr>(inner);
      if (array && array->getType()->isPointerType()) stored.insert(array->getNameAsString());
      else if (target && !(variable_of(target) && variable_of(target)->hasLocalStorage())) stored.insert("");
      else if (call && !is_invariant(call, {})) stored.insert("");
      return true;
    });
  }
  for (auto* read : reads) {
    auto* array = named_variable(llvm::cast<clang::ArraySubscriptExpr>(read)->getBase());
    if (!touches_other_memory(body_, array)) continue;
    if (!facts_.is_unaliased(source_, array, body_)) return false;
    if (store_before) apart.insert(array->getNameAsString());
  }
  return true;
}

/// The work's text with the edits, its lines moved to the indentation.
std::string RowTiler::block(const std::string& indent, const std::vector<TextEdit>& edits) const {
  const size_t first = source_.span(work_.front())->begin;
  size_t begin = source_.line_begin(first), end = *source_.statement_end(work_.back());
  const std::string old = source_.indentation(first);
  // Comments above the first statement, and behind the last.
  while (begin > 0) {
    const size_t above = source_.line_begin(begin - 1);
    const std::string line = source_.text().substr(above, begin - above);
    const bool comment = line.find("//") == line.find_first_not_of(" \t") && line.find("//") != line.npos;
    if (!comment || above <= source_.span(index_.statement)->end) break;
    begin = above;
  }
  const size_t line_end = std::min(source_.text().find('\n', end), source_.text().size());
  if (squeezed(source_.text().substr(end, line_end - end)).empty()) end = line_end;
  std::vector<TextEdit> moved;
  for (auto& edit : edits)
    if (edit.begin >= begin && edit.end <= end) moved.push_back({edit.begin - begin, edit.end - begin, edit.text});
  const std::string changed = apply_edits(source_.text().substr(begin, end - begin), moved).value_or("");
  std::string out;
  for (size_t at = 0; at < changed.size();) {
    const size_t stop = std::min(changed.find('\n', at), changed.size());
    std::string line = changed.substr(at, stop - at);
    if (line.starts_with(old)) line = indent + line.substr(old.size());
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.pop_back();
    out += line + "\n";
    at = stop + 1;
  }
  return out;
}

/// Declarations in front of the work, or (not `all`) also those in it, that these statements need, directly or through
/// others.
std::string RowTiler::needed_declarations(const std::string& indent, const Statements& by, bool all) const {
  std::set<const clang::VarDecl*> wanted;
  for (auto* statement : by) wanted.merge(variables_in(statement));
  Statements declarations = moved_;
  if (!all)
    std::copy_if(work_.begin(), work_.end(), std::back_inserter(declarations),
                 [](auto* statement) { return llvm::isa<clang::DeclStmt>(statement); });
  std::string out;
  for (auto one = declarations.rbegin(); one != declarations.rend(); ++one) {
    bool needed = false;
    for (auto* declared : llvm::cast<clang::DeclStmt>(*one)->decls())
      needed |= wanted.contains(llvm::dyn_cast<clang::VarDecl>(declared));
    if (!needed) continue;
    wanted.merge(variables_in(*one));
    const size_t begin = source_.span(*one)->begin;
    out = indent + source_.text().substr(begin, *source_.statement_end(*one) - begin) + "\n" + out;
  }
  return out;
}

std::string RowTiler::rows_loop(const std::string& indent,
                                const std::function<std::string(const std::string&)>& content) const {
  std::string inner = indent + source_.step(), condition, out;
  for (auto& part : upper_)
    condition += (condition.empty() ? "" : " && ") + condition_text(source_, part.condition, part.leaves);
  out += indent + (rows_ > kRowsAtOnce ? "#pragma unroll 4\n" : "#pragma unroll\n");
  out += indent + "for (int " + counter_ + " = 0; " + counter_ + " < " + std::to_string(rows_) + "; ++" + counter_ +
         ") {\n" + inner + head_ + first_name_ + " + " + counter_ + ";\n";
  if (condition.empty()) return out + content(inner) + indent + "}\n";
  return out + inner + "if (" + condition + ") {\n" + content(inner + source_.step()) + inner + "}\n" + indent + "}\n";
}

std::string RowTiler::text(const std::string& indent) const {
  auto lines = [](const std::string& at, const std::vector<std::string>& all) {
    std::string out;
    for (auto& line : all) out += at + line + "\n";
    return out;
  };
  auto loads = [&](const std::string& at, const std::string& place) {
    return lines(at, windows_->loads(place, counter_));
  };
  const bool slides = rows_ > kRowsAtOnce;
  std::string out = indent + "// Each thread computes " + std::to_string(rows_) + " " + kWhat[index_.axis] +
                    ", and keeps what they share of " + windows_->arrays() + " in registers.\n" +
                    lines(indent, windows_->declarations(slides ? 0 : rows_ - 1));
  if (!slides)
    out += rows_loop(indent, [&](const std::string& at) {
      return needed_declarations(at, windows_->reads(), false) + loads(at, counter_);
    });
  return out + rows_loop(indent, [&](const std::string& at) {
           std::vector<TextEdit> edits = windows_->uses(slides ? "" : counter_);
           std::string work = needed_declarations(at, work_, true);
           if (!slides) return work + block(at, edits);
           // The loads go in front of the first statement that needs them.
           const auto reads = windows_->reads();
           for (auto* statement : work_) {
             bool uses = false;
             walk(statement,
                  [&](const clang::Stmt* inner) { return !(uses |= std::ranges::find(reads, inner) != reads.end()); });
             if (!uses) continue;
             const size_t begin = source_.span(statement)->begin;
             const std::string old = source_.indentation(begin), all = loads(old, "");
             edits.push_back({source_.line_begin(begin), source_.line_begin(begin), all});
             break;
           }
           return work + block(at, edits) + lines(at, windows_->shifts(other_counter_));
         });
}

std::optional<Opportunity> RowTiler::run() {
  const bool parts = find_parts();
  if (work_.empty()) work_.assign(body_->body_begin(), body_->body_end());
  auto reads = shifted_reads(source_, sums_, body_, work_);
  const bool looks_like_one = !reads.runs.empty() || !reads.why_not.empty();
  if (!looks_like_one) return std::nullopt;
  if (reads.runs.empty()) return give_up(reads.why_not);
  if (!parts || !read_bounds())
    return give_up("a condition on " + index_.variable->getNameAsString() + " is more than a lower and upper bounds");
  if (auto why = work_is_fit(); !why.empty()) return give_up(why);
  windows_ = RegisterWindows::of(source_, reads.runs, kWhat[index_.axis]);
  if (!windows_) return give_up("the type of its elements cannot be spelled");
  if (windows_->values(rows_ > kRowsAtOnce ? 0 : rows_ - 1) > kMostValues) return std::nullopt;
  if (rows_ > kRowsAtOnce && windows_->has_gaps()) return std::nullopt;
  std::set<std::string> apart;
  if (!stores_stay_apart(apart)) return give_up(windows_->arrays() + " may overlap what the kernel stores");
  if (upper_.empty() && !first_.empty()) return give_up("nothing bounds " + index_.variable->getNameAsString());

  auto whole = source_.span(index_.statement), value = source_.span(index_.value);
  const size_t work_begin = source_.span(work_.front())->begin;
  auto work_end = source_.statement_end(work_.back());
  if (!whole || !value || !work_end || *work_end - work_begin > kLongestWork) return std::nullopt;
  head_ = source_.text().substr(whole->begin, value->begin - whole->begin);
  if (squeezed(head_).empty() || squeezed(head_).back() != '=') return std::nullopt;
  const std::string name = index_.variable->getNameAsString();
  first_name_ = source_.fresh_name(name + "_first"), counter_ = source_.fresh_name("u"),
  other_counter_ = source_.fresh_name("v");

  Opportunity found;
  found.place = std::string(kWhat[index_.axis]) + " of " + name;
  found.summary = std::to_string(rows_) + " " + kWhat[index_.axis] + " a thread" +
                  (rows_ > kRowsAtOnce ? ", a sliding window of what they share in registers" : "");
  const std::string head = with_names(head_, {{name, first_name_}});
  found.edits.push_back({whole->begin, value->end,
                         head + "(" + source_.spelled(index_.value) + ") * " + std::to_string(rows_) +
                             (first_.empty() ? "" : " + " + first_)});
  auto remove = [&](const clang::Stmt* statement) {
    const size_t begin = source_.line_begin(source_.span(statement)->begin), end = *source_.statement_end(statement);
    const size_t next = std::min(source_.text().find('\n', end), source_.text().size() - 1) + 1;
    found.edits.push_back({begin, squeezed(source_.text().substr(end, next - end)).empty() ? next : end, ""});
  };
  for (auto* statement : moved_) remove(statement);
  // What guards say about other indices stays.
  auto others = [&](const clang::IfStmt* guard, bool leaves) {
    std::string text;
    size_t count = 0;
    for (auto* part : parts_of_guard(guard->getCond(), leaves)) {
      if (depends_.axes_of(part)) continue;
      text += (text.empty() ? "" : leaves ? " || " : " && ") + source_.spelled(part), ++count;
    }
    return count == 1 && text.starts_with("(") && text.ends_with(")") ? text.substr(1, text.size() - 2) : text;
  };
  for (auto* guard : leaving_) {
    if (!depends_.axes_of(guard->getCond())) continue;
    auto condition = source_.span(guard->getCond());
    const std::string rest = others(guard, true);
    if (!condition || !source_.span(guard)) return std::nullopt;
    if (rest.empty()) remove(guard);
    else found.edits.push_back({condition->begin, condition->end, rest});
  }
  size_t begin = source_.line_begin(work_begin), end = *work_end;
  std::string indent = source_.indentation(work_begin), written;
  if (around_) {
    auto branch = source_.span(around_), then = source_.span(around_->getThen());
    auto after = source_.statement_end(around_);
    auto close = source_.offset(around_->getRParenLoc());
    if (!branch || !then || !after || !close || !source_.first_on_line(branch->begin)) return std::nullopt;
    begin = source_.line_begin(branch->begin), end = *after, indent = source_.indentation(branch->begin);
    const std::string rest = others(around_, false), inner = indent + source_.step();
    const bool own_line = llvm::isa<clang::CompoundStmt>(around_->getThen()) &&
                          source_.text().substr(*close, then->begin - *close).find('\n') != std::string::npos;
    written = rest.empty() ? text(indent)
                           : indent + "if (" + rest + ")" + (own_line ? "\n" + indent + "{\n" : " {\n") + text(inner) +
                                 indent + "}\n";
  } else {
    written = text(indent);
  }
  written.pop_back();
  found.edits.push_back({begin, end, written});
  found.divide_grid(index_.axis, rows_);
  if (upper_.empty()) {
    const std::string grid = std::string("gridDim.") + kAxisNames[index_.axis] + " % " + std::to_string(rows_);
    found.premises.push_back(facts_.premise(*Expression::parse(grid + " == 0")));
  }
  if (!apart.empty()) found.premises.push_back(facts_.no_overlap(apart));
  return found;
}

std::vector<Opportunity> find(const KernelSource& source, const RuleContext& facts, const Bindings& values) {
  const int64_t rows = values.at("rows");
  auto* kernel = source.kernel(facts.kernel);
  if (!kernel || !kernel->getReturnType()->isVoidType() || !llvm::isa<clang::CompoundStmt>(kernel->getBody()) ||
      has_barrier(kernel->getBody()) || source.spelled(kernel->getBody()).find("__shared__") != std::string::npos ||
      has_dynamic_shared(source) || keeps_addresses(source, kernel->getBody()) || facts.geometries.empty())
    return {};
  std::vector<Opportunity> all;
  for (int axis : {1, 2}) {
    auto index = global_index(source, kernel, axis);
    if (!index || !index->declared) continue;
    RowTiler tiler(source, facts, kernel, *index, rows);
    auto found = tiler.run();
    if (!found && !tiler.why_not().empty() && facts.declined)
      facts.declined(kStencilRegisterTiling, "the " + std::string(kWhat[axis]) + " of " +
                                                 index->variable->getNameAsString() + ": " + tiler.why_not());
    const bool enough = std::ranges::all_of(facts.geometries, [&](auto& geometry) {
      const int64_t blocks = along(geometry.grid, axis);
      return blocks >= rows && (tiler.bounded() || blocks % rows == 0);
    });
    if (found && enough) all.push_back(std::move(*found));
  }
  return all;
}

}  // namespace

const Rule kStencilRegisterTiling = {
    "stencil_register_tiling",
    "let each thread of a stencil compute several rows or planes, and keep what they share in registers",
    "a global index along y or z with a lower and upper bounds, several reads of one array at constant distances along "
    "it, under no condition; the kernel stores to no such array, and has no barrier or shared memory",
    {{"rows", {4, 2, 8, 16, 32}}},
    find,
    {Bound::Memory, Bound::Latency},
    0.3};

}  // namespace kernelift::tuner
