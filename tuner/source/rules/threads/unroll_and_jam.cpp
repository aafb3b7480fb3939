// unroll_and_jam: each thread does the work of K neighbouring threads, interleaved statement by statement:
//   int i = blockIdx.y * blockDim.y + threadIdx.y;  if (i < n) for (k…) sum += a[i * n + k] * b[k];
// becomes, for K = 2,
//   int i[2];  for (u…) i[u] = (…) * 2 + u;  if (i[1] < n) for (k…) for (u…) sum[u] += a[i[u] * n + k] * b[k];
// so that shared data (b[k]) is loaded once and independent work overlaps. Statements are repeated along the axes that
// they depend on (axis_dependence.h). If not all K neighbours are in bounds, the original text runs for one after the
// other, so the kernel stays correct for every size, not only for the recorded ones. Threads of a kernel without
// barriers are not ordered, so their work may be done in any order within one thread.
#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>

#include <algorithm>
#include <cctype>

#include "tuner/source/rules/threads/block_index.h"
#include "tuner/source/rules/threads/jammed_copies.h"

namespace kernelift::tuner {
namespace {

constexpr int64_t kMostNeighbours = 16;  ///< Per thread; their values are kept in registers.
constexpr size_t kLongestBody = 6000;    ///< Characters; the registers of longer bodies spill.

class Jammer {
 public:
  Jammer(const KernelSource& source, const clang::FunctionDecl* kernel,
         const std::vector<std::pair<GlobalIndex, int64_t>>& axes, bool keep_grid)
      : source_(source),
        keep_grid_(keep_grid),
        body_(llvm::cast<clang::CompoundStmt>(kernel->getBody())),
        axes_(axes),
        copies_(source, jam_axes(axes)) {}

  /// New text from the first index's declaration to the kernel's closing brace; nullopt if it cannot be rewritten.
  std::optional<std::string> rewrite();
  size_t begin() const { return begin_; }
  size_t end() const { return end_; }
  /// A guard keeps indices along the axis (an index into `axes`) in bounds, so that the grid may become smaller.
  bool bounded(size_t axis) const { return (bounded_ >> axis & 1) && !keep_grid_; }

 private:
  using Axes = AxisDependence::Axes;
  static std::vector<JamAxis> jam_axes(const std::vector<std::pair<GlobalIndex, int64_t>>& axes) {
    std::vector<JamAxis> all;
    for (auto& [index, count] : axes) all.push_back({count, index.variable});
    return all;
  }
  std::string index_text(size_t axis, const std::string& number) const;
  /// Appends a guard's condition for the neighbours that have to fulfil it.
  bool add_condition(const clang::Expr* condition, bool leaves, std::string& all) const;
  /// Condition that the neighbour exists in the original grid; `index` is the text of its index.
  std::string inside_text(size_t axis, const std::string& number, const std::string& index) const;
  bool add_remainder_loop(const std::string& indent, std::string& out) const;
  /// The condition depends on indices and on values that are the same for all neighbours, and on nothing else.
  bool tests_indices(const clang::Expr* condition) const;
  void find_guards(const std::vector<const clang::Stmt*>& statements);
  void note_bound(const clang::Expr* part, bool leaves);
  bool declare_index(size_t axis, const std::string& indent, std::string& out) const;
  bool is_index(const clang::Stmt* statement) const;

  const KernelSource& source_;
  const bool keep_grid_;
  const clang::CompoundStmt* body_;
  const std::vector<std::pair<GlobalIndex, int64_t>>& axes_;
  JammedCopies copies_;
  size_t begin_ = 0, end_ = 0;
  std::set<const clang::IfStmt*> guards_;
  Axes bounded_ = 0;
};

bool Jammer::is_index(const clang::Stmt* statement) const {
  return std::any_of(axes_.begin(), axes_.end(), [&](auto& axis) { return axis.first.statement == statement; });
}

bool Jammer::tests_indices(const clang::Expr* condition) const {
  if (!copies_.dependence().axes_of(condition) || !is_invariant(condition, {})) return false;
  auto variables = variables_in(condition);
  return std::all_of(variables.begin(), variables.end(), [&](auto* variable) {
    bool index = std::any_of(axes_.begin(), axes_.end(), [&](auto& axis) { return axis.first.variable == variable; });
    return index || !copies_.dependence().dependents().contains(variable);
  });
}

/// Along x the neighbours are a block's width apart, so that a warp's loads stay coalesced; along y and z they are
/// adjacent, so that they share loaded values.
std::string Jammer::index_text(size_t axis, const std::string& number) const {
  auto& [index, count] = axes_[axis];
  std::string text = source_.spelled(index.value), factor = std::to_string(count);
  if (index.axis == 0 || index.block_only) return neighbouring_block(text, index.axis, count, number);
  return "(" + text + ") * " + factor + (number == "0" ? "" : " + " + number);
}

std::string Jammer::inside_text(size_t axis, const std::string& number, const std::string& index) const {
  auto& [place, count] = axes_[axis];
  std::string name = kAxisNames[place.axis];
  if (place.axis == 0 || place.block_only)
    return "blockIdx." + name + " * " + std::to_string(count) + " + " + number + " < gridDim." + name;
  return index + " < gridDim." + name + " * blockDim." + name;
}

/// Writes the original text in a loop over the neighbours. It seldom runs, so neither it nor its inner loops are
/// unrolled.
bool Jammer::add_remainder_loop(const std::string& indent, std::string& out) const {
  std::vector<TextEdit> edits;
  int64_t count = 1;
  std::string iteration = source_.fresh_name("iteration"), inner = indent + source_.step(), skips;
  for (size_t axis = 0; axis < axes_.size(); ++axis) {
    auto init = source_.span(axes_[axis].first.value);
    std::string number = iteration;
    if (count > 1) number = "(" + number + " / " + std::to_string(count) + ")";
    if (axis + 1 < axes_.size()) number += " % " + std::to_string(axes_[axis].second);
    if (axes_.size() > 1) number = "(" + number + ")";
    std::string text = index_text(axis, number);
    if (!init || text.empty()) return false;
    edits.push_back({init->begin - begin_, init->end - begin_, text});
    if (!bounded(axis)) skips += "if (!(" + inside_text(axis, number, text) + ")) continue;\n" + inner;
    count *= axes_[axis].second;
  }
  auto returns = continue_instead_of_return(source_, body_, begin_);
  if (!returns) return false;
  for (auto& leave : *returns) edits.push_back({leave.begin - begin_, leave.end - begin_, leave.text});
  auto text = apply_edits(source_.text().substr(begin_, end_ - begin_), edits);
  if (!text) return false;
  while (!text->empty() && std::isspace(static_cast<unsigned char>(text->back()))) text->pop_back();
  for (size_t at = 0; (at = text->find('\n', at)) != text->npos;)
    if (++at; at < text->size() && std::isblank(static_cast<unsigned char>((*text)[at])))
      text->insert(at, source_.step() + source_.step());
  out += indent + "#pragma unroll 1\n" + indent + "for (int " + iteration + " = 0; " + iteration + " < " +
         std::to_string(count) + "; ++" + iteration + ") {\n" + inner + skips + *text + "\n" + indent + "}\n";
  return true;
}

/// Finds outermost branches that keep the work in bounds: those that return, and one that contains the rest of the
/// body.
void Jammer::find_guards(const std::vector<const clang::Stmt*>& statements) {
  for (auto* statement : statements) {
    auto* branch = llvm::dyn_cast<clang::IfStmt>(statement);
    if (!branch || branch->getElse() || branch->hasVarStorage() || branch->getInit() ||
        !tests_indices(branch->getCond()))
      continue;
    if (only_returns(branch->getThen()) || statement == statements.back()) guards_.insert(branch);
  }
}

void Jammer::note_bound(const clang::Expr* part, bool leaves) {
  const Axes bounds = copies_.dependence().bounds(part, leaves);
  for (size_t axis = 0; axis < axes_.size(); ++axis)
    if (bounds >> axis & 1) bounded_ |= 1U << axis;
}

/// Declares the index of each neighbour along the axis.
bool Jammer::declare_index(size_t axis, const std::string& indent, std::string& out) const {
  auto& index = axes_[axis].first;
  auto whole = source_.span(index.statement), init = source_.span(index.value);
  if (!whole || !init || index_text(axis, "0").empty()) return false;
  if (copies_.uses_arrays()) {
    out += copies_.index_text(axis, indent, [&](const std::string& number) { return index_text(axis, number); });
    return true;
  }
  std::string head = source_.text().substr(whole->begin, init->begin - whole->begin);
  for (auto& choice : copies_.choices(1U << axis))
    out += indent + copies_.renamed(head, choice) + index_text(axis, std::to_string(choice[axis])) + ";\n";
  return true;
}

bool Jammer::add_condition(const clang::Expr* condition, bool leaves, std::string& all) const {
  const std::string text = condition_text(source_, condition, leaves);
  if (text.empty()) return false;
  condition = condition->IgnoreParens();
  auto choices = copies_.choices(copies_.dependence().axes_of(condition));
  if (copies_.dependence().bounds(condition, leaves))
    choices = {choices.back()};  // If the last neighbour is in bounds, so are the others.
  else if (copies_.dependence().bounds(condition, !leaves)) choices = {choices.front()};
  for (auto& choice : choices) all += (all.empty() ? "" : " && ") + copies_.renamed(text, choice);
  return true;
}

std::optional<std::string> Jammer::rewrite() {
  auto close = source_.offset(body_->getRBracLoc());
  std::vector<const clang::Stmt*> statements(body_->body_begin(), body_->body_end());
  auto index = std::find_if(statements.begin(), statements.end(), [&](auto* statement) { return is_index(statement); });
  statements.erase(statements.begin(),
                   statements.begin() + static_cast<long>(first_repeatable(
                                            statements, static_cast<size_t>(index - statements.begin()))));
  auto first = statements.empty() ? std::nullopt : source_.span(statements.front());
  if (!close || !first) return std::nullopt;
  begin_ = first->begin, end_ = *close;
  if (end_ - begin_ > kLongestBody) return std::nullopt;
  find_guards(statements);
  std::vector<const clang::Stmt*> others;
  std::copy_if(statements.begin(), statements.end(), std::back_inserter(others),
               [&](auto* statement) { return !is_index(statement); });
  copies_.dependence().propagate(others, guards_);
  for (auto& [variable, axes] : copies_.dependence().dependents()) {
    auto declared = source_.offset(variable->getLocation());
    if (!declared || *declared < begin_ || !variable->hasLocalStorage()) return std::nullopt;
    // An index must depend on its own axis alone.
    for (size_t axis = 0; axis < axes_.size(); ++axis)
      if (axes_[axis].first.variable == variable && axes != 1U << axis) return std::nullopt;
  }
  for (auto& [index, count] : axes_)
    for (auto* statement : statements)
      if (statement != index.statement && changed_within(statement).contains(index.variable)) return std::nullopt;
  if (!copies_.names_can_be_copied(body_, {begin_, end_})) return std::nullopt;
  if (!changed_parameters(statements, 0).empty()) return std::nullopt;  // The next iteration would see the new values.

  const std::string indent = source_.indentation(begin_);
  std::vector<JammedCopies::Piece> before, within;
  std::vector<const clang::Stmt*> inside;
  std::vector<std::pair<const clang::Expr*, bool>> conditions_and_leaves;
  std::optional<size_t> from;
  for (auto* statement : others) {
    auto* guard = llvm::dyn_cast<clang::IfStmt>(statement);
    if (!guard || !guards_.contains(guard)) {
      inside.push_back(statement);
      continue;
    }
    if (conditions_and_leaves.empty()) {
      if (accesses_memory(inside) || !copies_.plan(inside, {}, indent, before)) return std::nullopt;
      inside.clear();
    } else if (!inside.empty()) {
      return std::nullopt;  // Statements between two guards do not run for all neighbours.
    }
    bool leaves = only_returns(guard->getThen());
    for (auto* part : parts_of_guard(guard->getCond(), leaves))
      note_bound(part, leaves), conditions_and_leaves.push_back({part, leaves});
    from = source_.statement_end(guard);
    if (leaves) continue;
    auto* block = llvm::dyn_cast<clang::CompoundStmt>(guard->getThen());
    if (block) inside.assign(block->body_begin(), block->body_end());
    else inside = {guard->getThen()};
    auto open = block ? source_.offset(block->getLBracLoc()) : std::nullopt;
    from = open ? std::optional(*open + 1) : std::nullopt;
  }
  if (!copies_.plan(inside, from, indent + source_.step(), within)) return std::nullopt;

  auto all = before;
  all.insert(all.end(), within.begin(), within.end());
  std::vector<const clang::DeclStmt*> indices;
  for (auto& [index, count] : axes_) indices.push_back(llvm::cast<clang::DeclStmt>(index.statement));
  copies_.use_arrays(all, indices);  // Otherwise every copy keeps a name of its own.
  std::string out, condition;
  for (size_t axis = 0; axis < axes_.size(); ++axis)
    if (!declare_index(axis, indent, out)) return std::nullopt;
  for (auto& [part, leaves] : conditions_and_leaves)
    if (!add_condition(part, leaves, condition)) return std::nullopt;
  for (size_t axis = 0; axis < axes_.size(); ++axis) {
    if (bounded(axis)) continue;
    auto last = copies_.choices(1U << axis).back();
    std::string name = copies_.renamed(axes_[axis].first.variable->getName().str(), last);
    condition += (condition.empty() ? "" : " && ") + inside_text(axis, std::to_string(last[axis]), name);
  }
  out += copies_.text(before) + indent + "if (" + condition + ") {\n" + copies_.text(within);
  out += indent + "} else {  // Not all of them are in bounds.\n";
  if (!add_remainder_loop(indent + source_.step(), out)) return std::nullopt;
  return out.substr(indent.size()) + indent + "}\n";
}

std::vector<Opportunity> find_unroll_and_jam(const KernelSource& source, const RuleContext& facts,
                                             const Bindings& values) {
  auto* kernel = source.kernel(facts.kernel);
  if (!kernel || !kernel->getReturnType()->isVoidType() || !llvm::isa<clang::CompoundStmt>(kernel->getBody()) ||
      has_barrier(kernel->getBody()) || source.spelled(kernel->getBody()).find("__shared__") != std::string::npos ||
      keeps_addresses(source, kernel->getBody()) || facts.geometries.empty())
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
  std::vector<Opportunity> all;
  for (bool keep_grid : {false, true}) {
    Jammer jammer(source, kernel, axes, keep_grid);
    auto text = jammer.rewrite();
    if (!text) continue;
    Opportunity form = found;
    // If nothing bounds the index, the grid keeps its size, from which the kernel learns the original number of
    // threads; blocks past the end have no work.
    int64_t idle = 1;
    bool shrinks = false;
    for (size_t axis = 0; axis < axes.size(); ++axis) {
      if (jammer.bounded(axis)) form.divide_grid(axes[axis].first.axis, axes[axis].second), shrinks = true;
      else idle *= axes[axis].second;
    }
    if (idle > 1) form.effects = {idle_blocks(idle)};
    std::string closing = source.first_on_line(jammer.end()) ? source.indentation(jammer.end()) : "";
    form.edits.push_back({jammer.begin(), jammer.end(), *text + closing});
    all.push_back(std::move(form));
    if (!shrinks || !facts.keep_grid) break;
  }
  return all;
}

}  // namespace

const Rule kUnrollAndJam = {
    "unroll_and_jam",
    "let each thread work on several neighbours at once",
    "global indices along the axes, no barrier, shared memory or other use of the block's number; nothing in "
    "front of the guard touches memory",
    {{"x", {1, 4, 2}}, {"y", {1, 4, 2, 8}}, {"z", {1, 4, 2, 8}}},
    find_unroll_and_jam,
    {Bound::Compute, Bound::Latency, Bound::Memory},
    0.2};

}  // namespace kernelift::tuner
