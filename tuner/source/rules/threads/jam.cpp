// jam: each thread does the work of K neighbours at the same time, statement by statement, in one loop (unroll-and-jam):
//   int i = blockIdx.y * blockDim.y + threadIdx.y;  if (i < n) for (k…) sum += a[i * n + k] * b[k];
// becomes, for K = 2,
//   int i = (…) * 2, i_1 = (…) * 2 + 1;  if (i < n && i_1 < n) for (k…) { sum += a[i * n + k] * b[k]; sum_1 += a[i_1 * n + k] * b[k]; }
// so that what neighbours share (b[k]) is loaded once and independent work overlaps. Which statements are repeated follows
// from what depends on which axis: a value that depends on x alone is computed once for all y. Where not all K are inside,
// the original text runs, one neighbour after the other; that holds for every size, not for the recorded ones alone. Threads of a kernel without barriers have no order among each
// other, so neither has their work within one thread.
#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "tuner/source/rules/threads/block_index.h"

namespace kernelift {
namespace {

constexpr int64_t kMostNeighbours = 16;   ///< Of a thread: their values live in registers.
constexpr size_t kLongestBody = 6000;     ///< Characters; longer ones spill long before this.

/// `text` with whole identifiers replaced, members of other objects excepted.
std::string renamed(const std::string& text, const std::map<std::string, std::string>& names) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    auto word = [&](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
    if (!word(text[at])) {
      out += text[at++];
      continue;
    }
    size_t end = at;
    while (end < text.size() && word(text[end])) ++end;
    std::string name = text.substr(at, end - at);
    bool member = (!out.empty() && out.back() == '.') || (out.size() > 1 && out.ends_with("->"));
    auto found = member ? names.end() : names.find(name);
    out += found == names.end() ? name : found->second;
    at = end;
  }
  return out;
}

class Jammer {
 public:
  Jammer(const KernelSource& source, const clang::FunctionDecl* kernel, const std::vector<std::pair<GlobalIndex, int64_t>>& axes)
      : source_(source), body_(llvm::cast<clang::CompoundStmt>(kernel->getBody())), axes_(axes) {}

  /// The text from the first index's declaration to the kernel's closing brace; nullopt if something speaks against it.
  std::optional<std::string> rewrite();
  size_t begin() const { return begin_; }
  size_t end() const { return end_; }
  /// Something keeps indices along the axis (of axes) inside, however far the last thread's neighbours reach.
  bool bounded(size_t axis) const { return bounded_ >> axis & 1; }

 private:
  using Axes = unsigned;                                   ///< A bit per entry of axes_.
  Axes axes_of(const clang::Stmt* statement) const;
  void spread_dependence(const clang::Stmt* statement, Axes outer);
  bool renamable() const;
  /// No copy's name is taken: by an earlier jam, for instance.
  bool names_are_free() const;
  /// Choices of neighbour, one number per axis; those of other axes are 0.
  std::vector<std::vector<int64_t>> choices(Axes axes) const;
  std::map<std::string, std::string> names_for(const std::vector<int64_t>& choice) const;
  std::string index_text(size_t axis, const std::string& number) const;
  /// That the neighbour is one of the original's threads; `index` names its index.
  std::string inside_text(size_t axis, const std::string& number, const std::string& index) const;
  /// Where a condition of a guard is an upper bound: of which axis.
  Axes bounds(const clang::Expr* condition, bool leaves) const;
  /// Every copy of a statement that is repeated as it is spelled.
  bool copy(const clang::Stmt* statement, const std::string& indent, std::string& out) const;
  bool jam(const clang::Stmt* statement, const std::string& indent, std::string& out);
  bool jam_list(const std::vector<const clang::Stmt*>& statements, const std::string& indent, std::string& out);
  bool one_after_the_other(const std::string& indent, std::string& out) const;
  void conditions(const clang::Expr* condition, bool leaves, std::vector<const clang::Expr*>& parts) const;
  /// Of nothing but indices and what is the same for all.
  bool asks_for_indices(const clang::Expr* condition) const;
  void find_guards(const std::vector<const clang::Stmt*>& statements);
  bool declare_index(size_t axis, const std::string& indent, std::string& out) const;
  bool effect_without_neighbour(const clang::Stmt* statement) const;
  bool is_index(const clang::Stmt* statement) const;

  const KernelSource& source_;
  const clang::CompoundStmt* body_;
  const std::vector<std::pair<GlobalIndex, int64_t>>& axes_;
  std::map<const clang::VarDecl*, Axes> depends_;
  size_t begin_ = 0, end_ = 0;
  std::set<const clang::IfStmt*> guards_;
  Axes bounded_ = 0;
  std::string separator_ = "_";                            ///< Between a variable's name and its neighbour's number.
};

bool Jammer::is_index(const clang::Stmt* statement) const {
  return std::any_of(axes_.begin(), axes_.end(), [&](auto& axis) { return axis.first.statement == statement; });
}

Jammer::Axes Jammer::axes_of(const clang::Stmt* statement) const {
  Axes axes = 0;
  auto add = [&](const clang::VarDecl* variable) {
    auto found = depends_.find(variable);
    if (found != depends_.end()) axes |= found->second;
  };
  walk(statement, [&](const clang::Stmt* inner) {
    if (auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(inner)) {
      if (auto* variable = llvm::dyn_cast<clang::VarDecl>(reference->getDecl())) add(variable);
    } else if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(inner)) {
      for (auto* declared : declaration->decls())
        if (auto* variable = llvm::dyn_cast<clang::VarDecl>(declared)) add(variable);
    }
    return true;
  });
  return axes;
}

/// Everything that a statement changes depends on whatever the statement mentions, and on what decides whether it runs.
void Jammer::spread_dependence(const clang::Stmt* statement, Axes outer) {
  if (!statement) return;
  auto each = [&](Axes more) {
    for (auto* child : statement->children()) spread_dependence(child, outer | more);
  };
  if (llvm::isa<clang::CompoundStmt, clang::AttributedStmt>(statement)) return each(0);
  // Behind a guard all neighbours are inside, or this text does not run.
  if (auto* branch = llvm::dyn_cast<clang::IfStmt>(statement)) return each(guards_.contains(branch) ? 0 : axes_of(branch->getCond()));
  if (auto* loop = llvm::dyn_cast<clang::ForStmt>(statement)) {
    Axes header = 0;
    for (auto* part : {loop->getInit(), static_cast<const clang::Stmt*>(loop->getCond()), static_cast<const clang::Stmt*>(loop->getInc())})
      if (part) header |= axes_of(part);
    return each(header);
  }
  if (auto* loop = llvm::dyn_cast<clang::WhileStmt>(statement)) return each(axes_of(loop->getCond()));
  if (auto* loop = llvm::dyn_cast<clang::DoStmt>(statement)) return each(axes_of(loop->getCond()));
  Axes axes = outer | axes_of(statement);
  for (auto* variable : changed_within(statement))
    if (axes) depends_[variable] |= axes;
}

/// Names can be replaced in the text: each stands for one variable, and is spelled where it is used, not in a macro.
bool Jammer::renamable() const {
  std::map<std::string, std::set<const clang::VarDecl*>> by_name;
  bool good = true;
  auto& sources = source_.context().getSourceManager();
  walk(body_, [&](const clang::Stmt* statement) {
    if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement))
      for (auto* declared : declaration->decls())
        if (auto* variable = llvm::dyn_cast<clang::VarDecl>(declared)) by_name[variable->getName().str()].insert(variable);
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement);
    auto* variable = reference ? llvm::dyn_cast<clang::VarDecl>(reference->getDecl()) : nullptr;
    if (!variable) return true;
    by_name[variable->getName().str()].insert(variable);
    if (!depends_.contains(variable)) return true;
    auto spelled = sources.getSpellingLoc(reference->getLocation());
    good &= sources.isInMainFile(spelled) && sources.getFileOffset(spelled) >= begin_ && sources.getFileOffset(spelled) < end_;
    return true;
  });
  for (auto& [variable, axes] : depends_) good &= by_name[variable->getName().str()].size() <= 1;
  return good;
}

bool Jammer::asks_for_indices(const clang::Expr* condition) const {
  if (!axes_of(condition) || !is_invariant(condition, {})) return false;
  auto variables = variables_in(condition);
  return std::all_of(variables.begin(), variables.end(), [&](auto* variable) {
    bool index = std::any_of(axes_.begin(), axes_.end(), [&](auto& axis) { return axis.first.variable == variable; });
    return index || !depends_.contains(variable);
  });
}

std::vector<std::vector<int64_t>> Jammer::choices(Axes axes) const {
  std::vector<std::vector<int64_t>> all{std::vector<int64_t>(axes_.size(), 0)};
  for (size_t axis = 0; axis < axes_.size(); ++axis) {
    if (!(axes >> axis & 1)) continue;
    std::vector<std::vector<int64_t>> longer;
    for (auto& choice : all)
      for (int64_t number = 0; number < axes_[axis].second; ++number) {
        longer.push_back(choice);
        longer.back()[axis] = number;
      }
    all = std::move(longer);
  }
  return all;
}

std::map<std::string, std::string> Jammer::names_for(const std::vector<int64_t>& choice) const {
  std::map<std::string, std::string> names;
  for (auto& [variable, axes] : depends_) {
    std::string suffix;
    bool first = true;
    for (size_t axis = 0; axis < axes_.size(); ++axis)
      if (axes >> axis & 1) suffix += separator_ + std::to_string(choice[axis]), first &= choice[axis] == 0;
    if (!first) names[variable->getName().str()] = variable->getName().str() + suffix;
  }
  return names;
}

bool Jammer::names_are_free() const {
  for (auto& choice : choices(~Axes{0}))
    for (auto& [name, copy] : names_for(choice))
      if (source_.fresh_name(copy) != copy) return false;
  return true;
}

/// Along x neighbours stay a block's width apart, so that a warp's loads stay together; along y and z they are adjacent,
/// so that what they share is in the same registers.
std::string Jammer::index_text(size_t axis, const std::string& number) const {
  auto& [index, count] = axes_[axis];
  std::string text = source_.spelled(index.value), factor = std::to_string(count);
  if (index.axis == 0 || index.block_alone) {
    std::string block = std::string("blockIdx.") + kAxisNames[index.axis];
    size_t at = text.find(block);
    if (at == text.npos) return {};
    return text.replace(at, block.size(), "(" + block + " * " + factor + (number == "0" ? ")" : " + " + number + ")"));
  }
  return "(" + text + ") * " + factor + (number == "0" ? "" : " + " + number);
}

std::string Jammer::inside_text(size_t axis, const std::string& number, const std::string& index) const {
  auto& [place, count] = axes_[axis];
  std::string name = kAxisNames[place.axis];
  if (place.axis == 0 || place.block_alone)
    return "blockIdx." + name + " * " + std::to_string(count) + " + " + number + " < gridDim." + name;
  return index + " < gridDim." + name + " * blockDim." + name;
}

Jammer::Axes Jammer::bounds(const clang::Expr* condition, bool leaves) const {
  auto* binary = llvm::dyn_cast<clang::BinaryOperator>(condition->IgnoreParenImpCasts());
  if (!binary) return 0;
  auto less = leaves ? std::set{clang::BO_GE, clang::BO_GT} : std::set{clang::BO_LT, clang::BO_LE};
  auto more = leaves ? std::set{clang::BO_LE, clang::BO_LT} : std::set{clang::BO_GT, clang::BO_GE};
  auto alone = [&](const clang::Expr* index, const clang::Expr* limit) -> Axes {
    // `y * width + x < size` keeps neither y nor x inside a row or column.
    Axes axes = axes_of(index);
    return axes_of(limit) == 0 && (axes & (axes - 1)) == 0 ? axes : 0;
  };
  if (less.contains(binary->getOpcode())) return alone(binary->getLHS(), binary->getRHS());
  if (more.contains(binary->getOpcode())) return alone(binary->getRHS(), binary->getLHS());
  return 0;
}

/// Does something that each neighbour must do for itself, or that only one may do.
bool Jammer::effect_without_neighbour(const clang::Stmt* statement) const {
  bool effect = false;
  walk(statement, [&](const clang::Stmt* inner) {
    const clang::Expr* target = nullptr;
    if (auto* binary = llvm::dyn_cast<clang::BinaryOperator>(inner); binary && binary->isAssignmentOp()) target = binary->getLHS();
    else if (auto* unary = llvm::dyn_cast<clang::UnaryOperator>(inner); unary && unary->isIncrementDecrementOp()) target = unary->getSubExpr();
    else if (auto* call = llvm::dyn_cast<clang::CallExpr>(inner)) effect |= !is_invariant(call, {});
    if (target) {
      auto changed = changed_within(statement);
      auto* variable = named_variable(target);
      effect |= !variable || !variable->hasLocalStorage();
    }
    return !effect;
  });
  return effect;
}

bool Jammer::copy(const clang::Stmt* statement, const std::string& indent, std::string& out) const {
  auto range = source_.span(statement);
  auto end = source_.statement_end(statement);
  if (!range || !end) return false;
  std::string text = source_.text().substr(range->begin, *end - range->begin);
  if (text.find('#') != text.npos) return false;
  // What leaves a loop that the copies share would leave it for all of them.
  bool leaves = false;
  walk(statement, [&](const clang::Stmt* inner) {
    leaves |= llvm::isa<clang::ReturnStmt, clang::GotoStmt, clang::LabelStmt, clang::AsmStmt>(inner);
    if (llvm::isa<clang::BreakStmt, clang::ContinueStmt>(inner)) {
      const clang::Stmt* up = inner;
      bool own = false;
      while (up && up != statement) {
        up = source_.parent(up);
        own |= up && llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::SwitchStmt>(up);
      }
      leaves |= !own;
    }
    return !leaves;
  });
  if (leaves) return false;
  Axes axes = axes_of(statement);
  if (axes == 0 && effect_without_neighbour(statement)) return false;
  for (auto& choice : choices(axes)) out += indent + renamed(text, names_for(choice)) + "\n";
  return true;
}

bool Jammer::jam_list(const std::vector<const clang::Stmt*>& statements, const std::string& indent, std::string& out) {
  for (auto* statement : statements)
    if (!jam(statement, indent, out)) return false;
  return true;
}

bool Jammer::jam(const clang::Stmt* statement, const std::string& indent, std::string& out) {
  if (llvm::isa<clang::NullStmt>(statement)) return true;
  if (auto* block = llvm::dyn_cast<clang::CompoundStmt>(statement)) {
    out += indent + "{\n";
    if (!jam_list({block->body_begin(), block->body_end()}, indent + "  ", out)) return false;
    out += indent + "}\n";
    return true;
  }
  if (auto* attributed = llvm::dyn_cast<clang::AttributedStmt>(statement)) {
    for (auto* attribute : attributed->getAttrs()) {
      auto* hint = llvm::dyn_cast<clang::LoopHintAttr>(attribute);
      if (!hint) return false;
      std::string value = hint->getValue() ? source_.spelled(hint->getValue()) : "";
      if (hint->getValue() && value.empty()) return false;
      out += indent + "#pragma unroll" + (value.empty() ? "" : " " + value) + "\n";
    }
    return jam(attributed->getSubStmt(), indent, out);
  }
  auto inner = [&](const clang::Stmt* part) {
    if (llvm::isa<clang::CompoundStmt>(part)) return jam(part, indent, out);
    out += indent + "{\n";
    bool good = jam(part, indent + "  ", out);
    out += indent + "}\n";
    return good;
  };
  if (auto* loop = llvm::dyn_cast<clang::ForStmt>(statement)) {
    Axes header = 0;
    for (auto* part : {loop->getInit(), static_cast<const clang::Stmt*>(loop->getCond()), static_cast<const clang::Stmt*>(loop->getInc())})
      if (part) header |= axes_of(part);
    auto open = source_.offset(loop->getForLoc()), close = source_.offset(loop->getRParenLoc());
    if (header || !open || !close) return copy(statement, indent, out);
    out += indent + source_.text().substr(*open, *close + 1 - *open) + "\n";
    return inner(loop->getBody());
  }
  if (auto* loop = llvm::dyn_cast<clang::WhileStmt>(statement); loop && !axes_of(loop->getCond())) {
    std::string condition = source_.spelled(loop->getCond());
    if (condition.empty()) return false;
    out += indent + "while (" + condition + ")\n";
    return inner(loop->getBody());
  }
  if (auto* branch = llvm::dyn_cast<clang::IfStmt>(statement); branch && !branch->getInit() && !axes_of(branch->getCond())) {
    std::string condition = source_.spelled(branch->getCond());
    if (condition.empty() || branch->hasVarStorage()) return false;
    out += indent + "if (" + condition + ")\n";
    if (!inner(branch->getThen())) return false;
    if (!branch->getElse()) return true;
    out += indent + "else\n";
    return inner(branch->getElse());
  }
  if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement))
    for (auto* declared : declaration->decls()) {
      auto* variable = llvm::dyn_cast<clang::VarDecl>(declared);
      if (!variable || !variable->hasLocalStorage()) return false;
    }
  return copy(statement, indent, out);
}

void Jammer::conditions(const clang::Expr* condition, bool leaves, std::vector<const clang::Expr*>& parts) const {
  auto* binary = llvm::dyn_cast<clang::BinaryOperator>(condition->IgnoreParenImpCasts());
  if (binary && binary->getOpcode() == (leaves ? clang::BO_LOr : clang::BO_LAnd)) {
    conditions(binary->getLHS(), leaves, parts);
    conditions(binary->getRHS(), leaves, parts);
  } else {
    parts.push_back(condition);
  }
}

/// The original text in a loop over the neighbours.
bool Jammer::one_after_the_other(const std::string& indent, std::string& out) const {
  std::vector<TextEdit> edits;
  int64_t count = 1;
  std::string turn = source_.fresh_name("turn"), skips;
  for (size_t axis = 0; axis < axes_.size(); ++axis) {
    auto init = source_.span(axes_[axis].first.value);
    std::string number = turn;
    if (count > 1) number = "(" + number + " / " + std::to_string(count) + ")";
    if (axis + 1 < axes_.size()) number += " % " + std::to_string(axes_[axis].second);
    std::string text = index_text(axis, axes_.size() > 1 ? "(" + number + ")" : number);
    if (!init || text.empty()) return false;
    edits.push_back({init->begin - begin_, init->end - begin_, text});
    if (!bounded(axis)) skips += "if (!(" + inside_text(axis, "(" + number + ")", text) + ")) continue;\n" + indent;
    count *= axes_[axis].second;
  }
  bool good = true;
  walk(body_, [&](const clang::Stmt* statement) {
    auto* leave = llvm::dyn_cast<clang::ReturnStmt>(statement);
    if (!leave) return true;
    auto range = source_.span(leave);
    for (auto* up = source_.parent(leave); up && up != body_; up = source_.parent(up))
      good &= !llvm::isa<clang::ForStmt, clang::WhileStmt, clang::DoStmt, clang::SwitchStmt>(up);
    if (!range || range->begin < begin_) good = false;
    else edits.push_back({range->begin - begin_, range->end - begin_, "continue"});
    return true;
  });
  auto text = good ? apply_edits(source_.text().substr(begin_, end_ - begin_), edits) : std::nullopt;
  if (!text) return false;
  while (!text->empty() && std::isspace(static_cast<unsigned char>(text->back()))) text->pop_back();
  out += indent + "for (int " + turn + " = 0; " + turn + " < " + std::to_string(count) + "; ++" + turn + ") {\n" + indent + skips + *text + "\n" + indent + "}\n";
  return true;
}

bool only_returns(const clang::Stmt* statement) {
  if (auto* block = llvm::dyn_cast<clang::CompoundStmt>(statement); block && block->size() == 1) statement = block->body_front();
  return llvm::isa<clang::ReturnStmt>(statement);
}

/// Before a guard there may be neighbours that the original never ran: nothing may touch memory for them.
bool before_guard(const std::vector<const clang::Stmt*>& statements) {
  bool pure = true;
  for (auto* statement : statements)
    walk(statement, [&](const clang::Stmt* inner) {
      pure &= !llvm::isa<clang::ArraySubscriptExpr, clang::CallExpr>(inner);
      if (auto* unary = llvm::dyn_cast<clang::UnaryOperator>(inner)) pure &= unary->getOpcode() != clang::UO_Deref;
      return pure;
    });
  return pure;
}

/// Branches on indices that keep the work inside, at the outermost level: those that return, and one that is all the rest.
void Jammer::find_guards(const std::vector<const clang::Stmt*>& statements) {
  for (auto* statement : statements) {
    auto* branch = llvm::dyn_cast<clang::IfStmt>(statement);
    if (!branch || branch->getElse() || branch->hasVarStorage() || branch->getInit() || !asks_for_indices(branch->getCond())) continue;
    if (only_returns(branch->getThen()) || statement == statements.back()) guards_.insert(branch);
  }
}

/// One variable for each neighbour along the axis.
bool Jammer::declare_index(size_t axis, const std::string& indent, std::string& out) const {
  auto& index = axes_[axis].first;
  auto whole = source_.span(index.statement), init = source_.span(index.value);
  if (!whole || !init) return false;
  std::string head = source_.text().substr(whole->begin, init->begin - whole->begin);
  for (auto& choice : choices(1U << axis)) {
    std::string text = index_text(axis, std::to_string(choice[axis]));
    if (text.empty()) return false;
    out += (out.empty() ? "" : indent) + renamed(head, names_for(choice)) + text + ";\n";
  }
  return true;
}

std::optional<std::string> Jammer::rewrite() {
  auto close = source_.offset(body_->getRBracLoc());
  std::vector<const clang::Stmt*> statements;
  for (auto* statement : body_->body()) {
    if (statements.empty() && !is_index(statement)) continue;
    statements.push_back(statement);
  }
  auto first = statements.empty() ? std::nullopt : source_.span(statements.front());
  if (!close || !first) return std::nullopt;
  begin_ = first->begin, end_ = *close;
  if (end_ - begin_ > kLongestBody) return std::nullopt;
  for (size_t axis = 0; axis < axes_.size(); ++axis) depends_[axes_[axis].first.variable] = 1U << axis;
  find_guards(statements);
  // A variable depends on whatever its sources depend on …
  for (std::map<const clang::VarDecl*, Axes> before; before != depends_;) {
    before = depends_;
    for (auto* statement : statements)
      if (!is_index(statement)) spread_dependence(statement, 0);
  }
  for (auto& [variable, axes] : depends_) {
    auto declared = source_.offset(variable->getLocation());
    if (!declared || *declared < begin_ || !variable->hasLocalStorage()) return std::nullopt;
    // … but an index is what its declaration says.
    for (size_t axis = 0; axis < axes_.size(); ++axis)
      if (axes_[axis].first.variable == variable && axes != 1U << axis) return std::nullopt;
  }
  for (auto& [index, count] : axes_)
    for (auto* statement : statements)
      if (statement != index.statement && changed_within(statement).contains(index.variable)) return std::nullopt;
  if (!renamable()) return std::nullopt;
  for (int more = 0; more < 3 && !names_are_free(); ++more) separator_ += "n";
  if (!names_are_free()) return std::nullopt;

  std::string indent = source_.indentation(begin_), out, all;
  std::vector<const clang::Stmt*> inside;
  for (auto* statement : statements) {
    auto* guard = llvm::dyn_cast<clang::IfStmt>(statement);
    if (is_index(statement)) {
      for (size_t axis = 0; axis < axes_.size(); ++axis)
        if (axes_[axis].first.statement == statement && !declare_index(axis, indent, out)) return std::nullopt;
    } else if (!guard || !guards_.contains(guard)) {
      inside.push_back(statement);
    } else {
      if (!asks_for_indices(guard->getCond())) return std::nullopt;
      if (all.empty()) {
        if (!before_guard(inside) || !jam_list(inside, indent, out)) return std::nullopt;
        inside.clear();
      } else if (!inside.empty()) {
        return std::nullopt;  // What stands between two guards is not for all neighbours.
      }
      bool leaves = only_returns(guard->getThen());
      std::vector<const clang::Expr*> parts;
      conditions(guard->getCond(), leaves, parts);
      for (auto* part : parts) {
        std::string text = source_.spelled(part->IgnoreParens());
        if (text.empty()) return std::nullopt;
        bounded_ |= bounds(part, leaves);
        for (auto& choice : choices(axes_of(part))) all += (all.empty() ? "" : " && ") + std::string(leaves ? "!(" : "(") + renamed(text, names_for(choice)) + ")";
      }
      if (leaves) continue;
      if (auto* block = llvm::dyn_cast<clang::CompoundStmt>(guard->getThen())) inside.assign(block->body_begin(), block->body_end());
      else inside = {guard->getThen()};
    }
  }
  for (size_t axis = 0; axis < axes_.size(); ++axis) {
    if (bounded(axis)) continue;
    auto last = choices(1U << axis).back();
    auto names = names_for(last);
    all += (all.empty() ? "" : " && ") + ("(" + inside_text(axis, std::to_string(last[axis]), names[axes_[axis].first.variable->getName().str()])) + ")";
  }
  out += indent + "if (" + all + ") {\n";
  if (!jam_list(inside, indent + "  ", out)) return std::nullopt;
  out += indent + "} else {\n";
  if (!one_after_the_other(indent + "  ", out)) return std::nullopt;
  return out + indent + "}\n";
}

std::vector<Opportunity> find(const KernelSource& source, const RuleContext& facts, const Bindings& values) {
  auto* kernel = source.kernel(facts.kernel);
  if (!kernel || !kernel->getReturnType()->isVoidType() || !llvm::isa<clang::CompoundStmt>(kernel->getBody()) || has_barrier(kernel->getBody()) ||
      source.spelled(kernel->getBody()).find("__shared__") != std::string::npos || facts.geometries.empty())
    return {};
  const int64_t wanted[] = {values.at("x"), values.at("y"), values.at("z")};
  std::vector<std::pair<GlobalIndex, int64_t>> axes;
  Opportunity found;
  int64_t neighbours = 1;
  for (int axis = 0; axis < 3; ++axis) {
    if (wanted[axis] <= 1) continue;
    auto index = global_index(source, kernel, axis);
    bool enough = std::any_of(facts.geometries.begin(), facts.geometries.end(),
                              [&](auto& geometry) { return along(geometry.grid, axis) >= wanted[axis]; });
    if (!index || !index->declared || !enough) return {};
    axes.push_back({*index, wanted[axis]});
    neighbours *= wanted[axis];
    found.place += (found.place.empty() ? "neighbours along " : ", ") + std::string(kAxisNames[axis]);
  }
  if (axes.empty() || neighbours > kMostNeighbours) return {};
  Jammer jammer(source, kernel, axes);
  auto text = jammer.rewrite();
  if (!text) return {};
  // Where nothing bounds the index, the grid must stay as it is, to say how many threads there were: blocks past the end
  // find no work.
  for (size_t axis = 0; axis < axes.size(); ++axis)
    if (jammer.bounded(axis)) found.grid[axes[axis].first.axis].divide = axes[axis].second;
  std::string closing = source.first_on_line(jammer.end()) ? source.indentation(jammer.end()) : "";
  found.edits.push_back({jammer.begin(), jammer.end(), *text + closing});
  return {found};
}

}  // namespace

const Rule kJam = {"jam", "let each thread work on several neighbours at once",
                   "global indices along the axes, no barrier, shared memory or other use of the block's number; nothing in "
                   "front of the guard touches memory",
                   {{"x", {1, 2, 4}}, {"y", {1, 4, 2, 8}}, {"z", {1, 4, 2, 8}}}, find, {Bound::Compute, Bound::Latency, Bound::Memory}};

}  // namespace kernelift
