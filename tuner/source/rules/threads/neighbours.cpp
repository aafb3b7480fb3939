// See neighbours.h.
#include "tuner/source/rules/threads/neighbours.h"

#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <algorithm>
#include <cctype>

namespace kernelift {

std::string with_names(const std::string& text, const std::map<std::string, std::string>& names) {
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
    if (name == "blockIdx" && text.compare(end, 1, ".") == 0) name = text.substr(at, end + 2 - at);
    bool member = (!out.empty() && out.back() == '.') || (out.size() > 1 && out.ends_with("->"));
    auto found = member ? names.end() : names.find(name);
    out += found == names.end() ? name : found->second;
    at += name.size();
  }
  return out;
}

namespace {

/// A library's function of values that gives one: what it computes is all it does.
bool only_computes(const clang::CallExpr* call) {
  auto* callee = call->getDirectCallee();
  if (!callee || callee->isVariadic() || callee->getReturnType()->isVoidType() ||
      callee->getASTContext().getSourceManager().isWrittenInMainFile(callee->getLocation()))
    return false;
  return std::all_of(callee->param_begin(), callee->param_end(), [](auto* parameter) {
    clang::QualType type = parameter->getType();
    return !(type->isPointerType() || type->isReferenceType()) || type->getPointeeType().isConstQualified();
  });
}

bool is_barrier(const clang::CallExpr* call) {
  auto* callee = call->getDirectCallee();
  return callee && callee->getIdentifier() && callee->getName() == "__syncthreads";
}

}  // namespace

Neighbours::Neighbours(const KernelSource& source, std::vector<Axis> axes) : source_(source), axes_(std::move(axes)) {
  for (size_t axis = 0; axis < axes_.size(); ++axis)
    if (axes_[axis].index) depends_[axes_[axis].index] = 1U << axis;
}

Neighbours::Axes Neighbours::axes_of(const clang::Stmt* statement) const {
  Axes axes = 0;
  auto add = [&](const clang::VarDecl* variable) {
    auto found = depends_.find(variable);
    if (found != depends_.end()) axes |= found->second;
  };
  walk(statement, [&](const clang::Stmt* inner) {
    if (llvm::isa<clang::PseudoObjectExpr>(inner)) {
      std::string text = squeezed(source_.spelled(inner));
      for (size_t axis = 0; axis < axes_.size(); ++axis)
        if (!text.empty() && axes_[axis].block == text) axes |= 1U << axis;
    } else if (auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(inner)) {
      if (auto* variable = llvm::dyn_cast<clang::VarDecl>(reference->getDecl())) add(variable);
    } else if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(inner)) {
      for (auto* declared : declaration->decls())
        if (auto* variable = llvm::dyn_cast<clang::VarDecl>(declared)) add(variable);
    }
    return true;
  });
  return axes;
}

Neighbours::Axes Neighbours::axes_of_header(const clang::ForStmt* loop) const {
  Axes header = 0;
  for (auto* part : {loop->getInit(), static_cast<const clang::Stmt*>(loop->getCond()), static_cast<const clang::Stmt*>(loop->getInc())})
    if (part) header |= axes_of(part);
  return header;
}

void Neighbours::spread(const std::vector<const clang::Stmt*>& statements, const std::set<const clang::IfStmt*>& guards) {
  // A variable depends on whatever its sources depend on …
  for (std::map<const clang::VarDecl*, Axes> before{{nullptr, 0}}; before != depends_;) {
    before = depends_;
    for (auto* statement : statements) spread(statement, 0, guards);
  }
}

/// Everything that a statement changes depends on whatever the statement mentions, and on what decides whether it runs.
void Neighbours::spread(const clang::Stmt* statement, Axes outer, const std::set<const clang::IfStmt*>& guards) {
  if (!statement) return;
  auto each = [&](Axes more) {
    for (auto* child : statement->children()) spread(child, outer | more, guards);
  };
  if (llvm::isa<clang::CompoundStmt, clang::AttributedStmt>(statement)) return each(0);
  // Behind a guard all neighbours are inside, or this text does not run.
  if (auto* branch = llvm::dyn_cast<clang::IfStmt>(statement)) return each(guards.contains(branch) ? 0 : axes_of(branch->getCond()));
  if (auto* loop = llvm::dyn_cast<clang::ForStmt>(statement)) return each(axes_of_header(loop));
  if (auto* loop = llvm::dyn_cast<clang::WhileStmt>(statement)) return each(axes_of(loop->getCond()));
  if (auto* loop = llvm::dyn_cast<clang::DoStmt>(statement)) return each(axes_of(loop->getCond()));
  Axes axes = outer | axes_of(statement);
  for (auto* variable : changed_within(statement))
    if (axes) depends_[variable] |= axes;
}

bool Neighbours::names_can_be_copied(const clang::Stmt* body, Span range) {
  std::map<std::string, std::set<const clang::VarDecl*>> by_name;
  bool good = true;
  auto& sources = source_.context().getSourceManager();
  walk(body, [&](const clang::Stmt* statement) {
    if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement))
      for (auto* declared : declaration->decls())
        if (auto* variable = llvm::dyn_cast<clang::VarDecl>(declared)) by_name[variable->getName().str()].insert(variable);
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement);
    auto* variable = reference ? llvm::dyn_cast<clang::VarDecl>(reference->getDecl()) : nullptr;
    if (!variable) return true;
    by_name[variable->getName().str()].insert(variable);
    if (!depends_.contains(variable)) return true;
    auto spelled = sources.getSpellingLoc(reference->getLocation());
    good &= sources.isInMainFile(spelled) && sources.getFileOffset(spelled) >= range.begin && sources.getFileOffset(spelled) < range.end;
    return true;
  });
  for (auto& [variable, axes] : depends_) good &= by_name[variable->getName().str()].size() <= 1;
  for (int more = 0; more < 3 && !names_are_free(); ++more) separator_ += "n";
  return good && names_are_free();
}

std::vector<std::vector<int64_t>> Neighbours::choices(Axes axes) const {
  std::vector<std::vector<int64_t>> all{std::vector<int64_t>(axes_.size(), 0)};
  for (size_t axis = 0; axis < axes_.size(); ++axis) {
    if (!(axes >> axis & 1)) continue;
    std::vector<std::vector<int64_t>> longer;
    for (auto& choice : all)
      for (int64_t number = 0; number < axes_[axis].count; ++number) {
        longer.push_back(choice);
        longer.back()[axis] = number;
      }
    all = std::move(longer);
  }
  return all;
}

std::map<std::string, std::string> Neighbours::names_for(const std::vector<int64_t>& choice) const {
  std::map<std::string, std::string> names;
  for (auto& [variable, axes] : depends_) {
    std::string suffix;
    bool first = true;
    for (size_t axis = 0; axis < axes_.size(); ++axis)
      if (axes >> axis & 1) suffix += separator_ + std::to_string(choice[axis]), first &= choice[axis] == 0;
    if (!first) names[variable->getName().str()] = variable->getName().str() + suffix;
  }
  for (size_t axis = 0; axis < axes_.size(); ++axis)
    if (!axes_[axis].block.empty())
      names[axes_[axis].block] = axes_[axis].name + (choice[axis] ? separator_ + std::to_string(choice[axis]) : "");
  return names;
}

bool Neighbours::names_are_free() const {
  for (auto& choice : choices(~Axes{0}))
    for (auto& [name, copy] : names_for(choice))
      if (source_.fresh_name(copy) != copy) return false;
  return true;
}

/// It changes nothing but what its neighbours have in common: variables of one thread, or of one block.
bool Neighbours::may_be_done_once(const clang::Stmt* statement) const {
  bool once = true;
  walk(statement, [&](const clang::Stmt* inner) {
    if (auto* call = llvm::dyn_cast<clang::CallExpr>(inner)) once &= is_invariant(call, {}) || only_computes(call) || is_barrier(call);
    const clang::Expr* target = assigned_by(inner);
    auto* variable = target ? variable_of(target) : nullptr;
    once &= !target || (variable && (variable->hasLocalStorage() || variable->hasAttr<clang::CUDASharedAttr>()));
    return once;
  });
  return once;
}

bool Neighbours::copy(const clang::Stmt* statement, const std::string& indent, std::string& out) const {
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
  if (axes == 0 && !may_be_done_once(statement)) return false;
  for (auto& choice : choices(axes)) out += indent + renamed(text, choice) + "\n";
  return true;
}

bool Neighbours::jam(const std::vector<const clang::Stmt*>& statements, const std::string& indent, std::string& out) const {
  for (auto* statement : statements)
    if (!jam(statement, indent, out)) return false;
  return true;
}

bool Neighbours::jam(const clang::Stmt* statement, const std::string& indent, std::string& out) const {
  if (llvm::isa<clang::NullStmt>(statement)) return true;
  if (auto* block = llvm::dyn_cast<clang::CompoundStmt>(statement)) {
    out += indent + "{\n";
    if (!jam(std::vector<const clang::Stmt*>{block->body_begin(), block->body_end()}, indent + "  ", out)) return false;
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
    auto open = source_.offset(loop->getForLoc()), close = source_.offset(loop->getRParenLoc());
    if (axes_of_header(loop) || !open || !close) return copy(statement, indent, out);
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
      bool shared = variable && variable->hasAttr<clang::CUDASharedAttr>() && !variable->hasExternalStorage();
      if (!variable || !(variable->hasLocalStorage() || shared)) return false;
    }
  return copy(statement, indent, out);
}

}  // namespace kernelift
