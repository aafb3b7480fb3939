// See jammed_copies.h.
#include "tuner/source/rules/threads/jammed_copies.h"

#include <clang/AST/Attr.h>
#include <clang/AST/Expr.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>

#include <algorithm>
#include <cctype>

#include "core/base/words.h"
#include "tuner/source/rules/spelled_type.h"

namespace kernelift::tuner {

std::string with_names(const std::string& text, const std::map<std::string, std::string>& names) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (!word_character(text[at])) {
      const size_t end = std::max(past_quoted(text, at), at + 1);
      out.append(text, at, end - at), at = end;
      continue;
    }
    size_t end = end_of_word(text, at);
    std::string name = text.substr(at, end - at);
    const bool builtin = name == "blockIdx" || name == "threadIdx" || name == "blockDim";
    if (builtin && text.compare(end, 1, ".") == 0) name = text.substr(at, end + 2 - at);
    bool member = (!out.empty() && out.back() == '.') || (out.size() > 1 && out.ends_with("->"));
    auto found = member ? names.end() : names.find(name);
    out += found == names.end() ? name : found->second;
    at += name.size();
  }
  return out;
}

namespace {

/// The call is of a library function that computes a value from values, without side effects.
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

/// The call may access memory: it takes a pointer or reference, returns nothing, or is not resolved.
bool may_touch_memory(const clang::CallExpr* call) {
  auto* callee = call->getDirectCallee();
  auto is_place = [](auto* parameter) {
    return parameter->getType()->isPointerType() || parameter->getType()->isReferenceType();
  };
  return !callee || callee->getReturnType()->isVoidType() ||
         std::any_of(callee->param_begin(), callee->param_end(), is_place);
}

bool reads_memory(const clang::Stmt* statement) {
  bool reads = false;
  walk(statement, [&](const clang::Stmt* inner) {
    auto* unary = llvm::dyn_cast<clang::UnaryOperator>(inner);
    auto* member = llvm::dyn_cast<clang::MemberExpr>(inner);
    auto* call = llvm::dyn_cast<clang::CallExpr>(inner);
    reads |= llvm::isa<clang::ArraySubscriptExpr>(inner) || (unary && unary->getOpcode() == clang::UO_Deref) ||
             (member && member->isArrow()) || (call && may_touch_memory(call));
    return !reads;
  });
  return reads;
}

bool writes_memory(const clang::Stmt* statement) {
  bool writes = false;
  walk(statement, [&](const clang::Stmt* inner) {
    const clang::Expr* target = assigned_by(inner);
    auto* variable = target ? variable_of(target) : nullptr;
    auto* call = llvm::dyn_cast<clang::CallExpr>(inner);
    writes |= (target && (!variable || !variable->hasLocalStorage())) || (call && may_touch_memory(call));
    return !writes;
  });
  return writes;
}

/// The variable has an initialiser other than its type's default constructor.
bool has_value(const clang::VarDecl* variable) {
  auto* construction = llvm::dyn_cast_or_null<clang::CXXConstructExpr>(variable->getInit());
  bool by_itself = construction && construction->getNumArgs() == 0 && !construction->isListInitialization();
  return variable->hasInit() && !by_itself;
}

/// Comment lines in the text between two statements; the first entry is the comment on the earlier statement's line.
std::vector<std::string> comments_in(std::string_view gap) {
  std::vector<std::string> lines{""};
  if (!squeezed(gap).empty()) return lines;  // Macros and directives stay where they are.
  for (bool first = true; !gap.empty(); first = false) {
    size_t end = std::min(gap.find('\n'), gap.size() - 1) + 1;
    std::string line = without_outer_blanks(gap.substr(0, end));
    bool goes_on = line.starts_with("/*") && !line.ends_with("*/");
    if (first && gap[end - 1] == '\n' && !goes_on) lines.front() = line;
    else if (!line.empty()) lines.push_back(line);
    gap.remove_prefix(end);
  }
  return lines;
}

bool is_barrier(const clang::CallExpr* call) {
  auto* callee = call->getDirectCallee();
  return callee && callee->getIdentifier() && callee->getName() == "__syncthreads";
}

}  // namespace

bool JammedCopies::names_can_be_copied(const clang::Stmt* body, Span range) {
  std::map<std::string, std::set<const clang::VarDecl*>> by_name;
  bool good = true;
  auto& sources = source_.context().getSourceManager();
  walk(body, [&](const clang::Stmt* statement) {
    if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement))
      for (auto* declared : declaration->decls())
        if (auto* variable = llvm::dyn_cast<clang::VarDecl>(declared))
          by_name[variable->getName().str()].insert(variable);
    auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(statement);
    auto* variable = reference ? llvm::dyn_cast<clang::VarDecl>(reference->getDecl()) : nullptr;
    if (!variable) return true;
    by_name[variable->getName().str()].insert(variable);
    if (!depends_.dependents().contains(variable)) return true;
    auto spelled = sources.getSpellingLoc(reference->getLocation());
    good &= sources.isInMainFile(spelled) && sources.getFileOffset(spelled) >= range.begin &&
            sources.getFileOffset(spelled) < range.end;
    return true;
  });
  for (auto& [variable, axes] : depends_.dependents()) good &= by_name[variable->getName().str()].size() <= 1;
  for (int more = 0; more < 3 && !names_are_free(); ++more) separator_ += "n";
  return good && names_are_free();
}

std::vector<std::vector<int64_t>> JammedCopies::choices(Axes axes) const {
  std::vector<std::vector<int64_t>> all{std::vector<int64_t>(jam_axes().size(), 0)};
  for (size_t axis = 0; axis < jam_axes().size(); ++axis) {
    if (!(axes >> axis & 1)) continue;
    std::vector<std::vector<int64_t>> longer;
    for (auto& choice : all)
      for (int64_t number = 0; number < jam_axes()[axis].count; ++number) {
        longer.push_back(choice);
        longer.back()[axis] = number;
      }
    all = std::move(longer);
  }
  return all;
}

std::map<std::string, std::string> JammedCopies::names_for(const std::vector<int64_t>& choice) const {
  std::map<std::string, std::string> names;
  if (uses_arrays()) {
    Lines numbers;
    for (int64_t number : choice) numbers.push_back(std::to_string(number));
    for (auto& [variable, declaration] : arrays_)
      names[variable->getName().str()] =
          variable->getName().str() + subscripts(depends_.dependents().at(variable), numbers);
    return names;
  }
  for (auto& [variable, axes] : depends_.dependents()) {
    std::string suffix;
    bool first = true;
    for (size_t axis = 0; axis < jam_axes().size(); ++axis)
      if (axes >> axis & 1) suffix += separator_ + std::to_string(choice[axis]), first &= choice[axis] == 0;
    if (!first) names[variable->getName().str()] = variable->getName().str() + suffix;
  }
  for (size_t axis = 0; axis < jam_axes().size(); ++axis)
    if (!jam_axes()[axis].block.empty())
      names[jam_axes()[axis].block] =
          jam_axes()[axis].name + (choice[axis] ? separator_ + std::to_string(choice[axis]) : "");
  return names;
}

bool JammedCopies::names_are_free() const {
  for (auto& choice : choices(~Axes{0}))
    for (auto& [name, copy] : names_for(choice))
      if (source_.fresh_name(copy) != copy) return false;
  return true;
}

/// The statement changes only variables that the combined threads (or blocks) share afterwards, so one execution serves
/// all of them.
bool JammedCopies::may_be_done_once(const clang::Stmt* statement) const {
  bool once = true;
  walk(statement, [&](const clang::Stmt* inner) {
    if (auto* call = llvm::dyn_cast<clang::CallExpr>(inner))
      once &= is_invariant(call, {}) || only_computes(call) || is_barrier(call);
    const clang::Expr* target = assigned_by(inner);
    auto* variable = target ? variable_of(target) : nullptr;
    once &= !target || (variable && (variable->hasLocalStorage() || variable->hasAttr<clang::CUDASharedAttr>()));
    return once;
  });
  return once;
}

bool JammedCopies::plan_copies(const clang::Stmt* statement, Lines comments, const std::string& indent,
                               std::vector<Piece>& pieces) const {
  std::string text = moved(statement, indent);
  if (text.empty() || text.find('#') != text.npos) return false;
  // A jump out of a loop that the copies share would end it for all of them.
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
  Axes axes = depends_.axes_of(statement);
  if (axes == 0) {
    if (!may_be_done_once(statement)) return false;
    for (auto& line : comments) pieces.push_back({indent, line});
    pieces.push_back({indent, text});
    return true;
  }
  // Copies of a barrier could be reached by different threads at different times: in loops whose length differs between
  // threads, or in a function that reuses its shared memory in every call.
  if (has_block_barrier(statement)) return false;
  // One loop over reads and writes would put the later neighbours' loads behind the first one's stores.
  bool reads = reads_memory(statement), writes = writes_memory(statement);
  Piece* last = pieces.empty() ? nullptr : &pieces.back();
  if (!last || last->axes != axes || last->indent != indent || (last->writes && reads) || (last->reads && writes))
    last = &pieces.emplace_back(Piece{.indent = indent, .axes = axes});
  last->repeated.push_back({statement, std::move(comments)});
  last->reads |= reads, last->writes |= writes;
  return true;
}

bool JammedCopies::plan(const std::vector<const clang::Stmt*>& statements, std::optional<size_t> begin,
                        const std::string& indent, std::vector<Piece>& pieces) const {
  for (auto* statement : statements) {
    auto range = source_.span(statement);
    Lines comments{""};
    if (begin && range && *begin < range->begin)
      comments = comments_in(std::string_view(source_.text()).substr(*begin, range->begin - *begin));
    if (!comments.front().empty() && !pieces.empty()) {
      Piece& before = pieces.back();
      if (before.repeated.empty()) before.text += "  " + comments.front();
      else before.repeated.back().trailing = comments.front();
    }
    comments.erase(comments.begin());
    if (!plan(statement, std::move(comments), indent, pieces)) return false;
    begin = source_.statement_end(statement);
  }
  return true;
}

bool JammedCopies::plan_body(const clang::Stmt* body, const std::string& indent, std::vector<Piece>& pieces) const {
  auto* block = llvm::dyn_cast<clang::CompoundStmt>(body);
  if (!block) return plan(body, {}, indent + source_.step(), pieces);
  auto open = source_.offset(block->getLBracLoc());
  return plan({block->body_begin(), block->body_end()}, open ? std::optional(*open + 1) : std::nullopt,
              indent + source_.step(), pieces);
}

bool JammedCopies::plan(const clang::Stmt* statement, Lines comments, const std::string& indent,
                        std::vector<Piece>& pieces) const {
  if (llvm::isa<clang::NullStmt>(statement)) return true;
  auto add_line = [&](const std::string& text) {
    for (auto& line : comments) pieces.push_back({indent, line});
    comments.clear();
    pieces.push_back({indent, text});
  };
  auto in_braces = [&](const std::string& head, const clang::Stmt* body) {
    add_line(head + "{");
    if (!plan_body(body, indent, pieces)) return false;
    add_line("}");
    return true;
  };
  if (llvm::isa<clang::CompoundStmt>(statement)) return in_braces("", statement);
  if (auto* attributed = llvm::dyn_cast<clang::AttributedStmt>(statement)) {
    // An attribute of a loop is dropped if the loop is repeated as a whole, inside a loop over the copies.
    std::vector<Piece> alone;
    if (!plan(attributed->getSubStmt(), {}, indent, alone)) return false;
    if (alone.empty() || !alone.front().repeated.empty())
      return plan(attributed->getSubStmt(), std::move(comments), indent, pieces);
    for (auto* attribute : attributed->getAttrs()) {
      auto* hint = llvm::dyn_cast<clang::LoopHintAttr>(attribute);
      if (!hint) return false;
      std::string value = hint->getValue() ? source_.spelled(hint->getValue()) : "";
      if (hint->getValue() && value.empty()) return false;
      add_line("#pragma unroll" + (value.empty() ? "" : " " + value));
    }
    return plan(attributed->getSubStmt(), {}, indent, pieces);
  }
  if (auto* loop = llvm::dyn_cast<clang::ForStmt>(statement)) {
    auto open = source_.offset(loop->getForLoc()), close = source_.offset(loop->getRParenLoc());
    if (depends_.axes_of_header(loop) || !open || !close)
      return plan_copies(statement, std::move(comments), indent, pieces);
    return in_braces(source_.text().substr(*open, *close + 1 - *open) + " ", loop->getBody());
  }
  if (auto* loop = llvm::dyn_cast<clang::WhileStmt>(statement); loop && !depends_.axes_of(loop->getCond())) {
    std::string condition = source_.spelled(loop->getCond());
    return !condition.empty() && in_braces("while (" + condition + ") ", loop->getBody());
  }
  if (auto* branch = llvm::dyn_cast<clang::IfStmt>(statement);
      branch && !branch->getInit() && !depends_.axes_of(branch->getCond())) {
    std::string condition = source_.spelled(branch->getCond());
    if (condition.empty() || branch->hasVarStorage() || !in_braces("if (" + condition + ") ", branch->getThen()))
      return false;
    if (!branch->getElse()) return true;
    pieces.back().text += " else {";
    if (!plan_body(branch->getElse(), indent, pieces)) return false;
    add_line("}");
    return true;
  }
  if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(statement))
    for (auto* declared : declaration->decls()) {
      auto* variable = llvm::dyn_cast<clang::VarDecl>(declared);
      bool shared = variable && variable->hasAttr<clang::CUDASharedAttr>() && !variable->hasExternalStorage();
      if (!variable || !(variable->hasLocalStorage() || shared)) return false;
    }
  return plan_copies(statement, std::move(comments), indent, pieces);
}

std::string JammedCopies::subscripts(Axes axes, const Lines& numbers) {
  std::string text;
  for (size_t axis = 0; axis < numbers.size(); ++axis)
    if (axes >> axis & 1) text += "[" + numbers[axis] + "]";
  return text;
}

std::optional<std::string> JammedCopies::array_declaration(const clang::DeclStmt* statement,
                                                           const clang::VarDecl* variable) const {
  clang::QualType type = variable->getType();
  auto* record = type->getAsCXXRecordDecl();
  bool plain = !type->isReferenceType() && !type.isVolatileQualified() && !variable->isConstexpr() &&
               !variable->hasAttrs() &&
               (!record || !record->hasDefinition() || (record->hasDefaultConstructor() && !record->isLambda()));
  // Elements get their initial values by assignment.
  bool assignable =
      !has_value(variable) || (!type->isArrayType() && variable->getInitStyle() != clang::VarDecl::CallInit);
  auto range = source_.span(statement);
  auto name = source_.offset(variable->getLocation());
  if (!plain || !assignable || !range || !name) return std::nullopt;
  std::string spelled = variable->getName().str(), head, behind;
  size_t first = *name;
  for (auto* declared : statement->decls()) {
    auto* other = llvm::cast<clang::VarDecl>(declared);
    auto at = source_.offset(other->getLocation());
    clang::QualType of = other->getType();
    if (!at) return std::nullopt;
    first = std::min(first, *at);
    bool needs_own_statement = of->isPointerType() || of->isReferenceType() || of->isArrayType() ||
                               of->getContainedAutoType() ||
                               (has_value(other) && other->getInitStyle() == clang::VarDecl::CallInit);
    if (needs_own_statement && !statement->isSingleDecl()) return std::nullopt;
  }
  if (first < range->begin || *name >= range->end) return std::nullopt;
  head = source_.text().substr(range->begin, first - range->begin);
  if (type->isArrayType())
    behind = without_outer_blanks(
        std::string_view(source_.text()).substr(*name + spelled.size(), range->end - *name - spelled.size()));
  if (behind.ends_with(";")) behind.pop_back();
  if (type->getContainedAutoType()) {
    if (type->isDependentType() || !only_plain_floats(source_, statement)) return std::nullopt;
    head = type.getUnqualifiedType().getCanonicalType().getAsString(source_.context().getPrintingPolicy()) + " ";
  } else if (type.isConstQualified()) {
    size_t word = type->isPointerType() ? head.rfind("const") : head.find("const");
    if (word == head.npos) return std::nullopt;
    head.erase(word, head.find_first_not_of(" \t", word + 5) - word);
  }
  Lines counts;
  for (auto& axis : jam_axes()) counts.push_back(std::to_string(axis.count));
  return head + spelled + subscripts(depends_.dependents().at(variable), counts) + behind;
}

bool JammedCopies::use_arrays(const std::vector<Piece>& pieces, const std::vector<const clang::DeclStmt*>& indices) {
  std::map<const clang::VarDecl*, std::set<const Piece*>> mentions;
  std::map<const clang::VarDecl*, const clang::DeclStmt*> declarations;
  auto declares = [&](const clang::DeclStmt* statement) {
    for (auto* declared : statement->decls())
      if (auto* variable = llvm::dyn_cast<clang::VarDecl>(declared)) declarations[variable] = statement;
  };
  for (auto& piece : pieces)
    for (auto& one : piece.repeated) {
      if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(one.statement)) declares(declaration);
      walk(one.statement, [&](const clang::Stmt* inner) {
        auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(inner);
        if (auto* variable = reference ? llvm::dyn_cast<clang::VarDecl>(reference->getDecl()) : nullptr)
          mentions[variable].insert(&piece);
        if (auto* declaration = llvm::dyn_cast<clang::DeclStmt>(inner))
          for (auto* declared : declaration->decls())
            if (auto* variable = llvm::dyn_cast<clang::VarDecl>(declared)) mentions[variable].insert(&piece);
        return true;
      });
    }
  for (auto* index : indices) declares(index);
  std::map<const clang::VarDecl*, std::string> arrays;
  for (auto& [variable, axes] : depends_.dependents()) {
    bool index = std::any_of(jam_axes().begin(), jam_axes().end(), [&](auto& axis) { return axis.index == variable; });
    if (!index && mentions[variable].size() <= 1) continue;
    auto declared = declarations.find(variable);
    auto declaration = declared == declarations.end() ? std::nullopt : array_declaration(declared->second, variable);
    if (!declaration) return false;
    arrays[variable] = *declaration;
  }
  arrays_ = std::move(arrays);
  for (auto* stem : {"u", "v", "w"}) counters_.push_back(source_.fresh_name(stem));
  return true;
}

std::map<std::string, std::string> JammedCopies::names_in_loops() const {
  std::map<std::string, std::string> names;
  for (auto& [variable, declaration] : arrays_)
    names[variable->getName().str()] =
        variable->getName().str() + subscripts(depends_.dependents().at(variable), counters_);
  for (size_t axis = 0; axis < jam_axes().size(); ++axis)
    if (jam_axes()[axis].in_loop) names[jam_axes()[axis].block] = jam_axes()[axis].in_loop(counters_[axis]);
  return names;
}

std::string JammedCopies::in_loops(Axes axes, const std::string& indent,
                                   const std::function<Lines(const std::string& indent)>& body) const {
  std::string out, inner = indent, closing;
  for (size_t axis = 0; axis < jam_axes().size(); ++axis) {
    if (!(axes >> axis & 1)) continue;
    const std::string& counter = counters_[axis];
    out += inner + "#pragma unroll\n" + inner + "for (int " + counter + " = 0; " + counter + " < " +
           std::to_string(jam_axes()[axis].count) + "; ++" + counter + ") {\n";
    closing = inner + "}\n" + closing;
    inner += source_.step();
  }
  for (auto& line : body(inner)) out += inner + line + "\n";
  return out + closing;
}

std::string JammedCopies::index_text(size_t axis, const std::string& indent,
                                     const std::function<std::string(const std::string&)>& value) const {
  auto* index = jam_axes()[axis].index;
  auto sets = [&](const std::string&) {
    return Lines{index->getName().str() + "[" + counters_[axis] + "] = " + value(counters_[axis]) + ";"};
  };
  return indent + arrays_.at(index) + ";\n" + in_loops(1U << axis, indent, sets);
}

std::string JammedCopies::moved(const clang::Stmt* statement, const std::string& indent) const {
  auto range = source_.span(statement);
  auto end = source_.statement_end(statement);
  if (!range || !end) return {};
  std::string text = source_.text().substr(range->begin, *end - range->begin),
              before = "\n" + source_.indentation(range->begin);
  for (size_t at = 0; (at = text.find(before, at)) != text.npos; at += indent.size() + 1)
    text.replace(at, before.size(), "\n" + indent);
  return text;
}

JammedCopies::Lines JammedCopies::assignments(const clang::DeclStmt* statement) const {
  Lines lines;
  auto names = names_in_loops();
  std::string head;
  for (auto* declared : statement->decls()) {
    auto* variable = llvm::cast<clang::VarDecl>(declared);
    if (head.empty())
      head = source_.text().substr(source_.span(statement)->begin,
                                   *source_.offset(variable->getLocation()) - source_.span(statement)->begin);
    std::string name = variable->getName().str(),
                value = has_value(variable) ? " = " + with_names(source_.spelled(variable->getInit()), names) : "";
    if (!arrays_.contains(variable)) lines.push_back(head + name + value + ";");
    else if (!value.empty()) lines.push_back(names.at(name) + value + ";");
  }
  return lines;
}

void JammedCopies::write_loops(const Piece& piece, std::string& out) const {
  auto is_array = [&](const clang::Decl* declared) {
    return arrays_.contains(llvm::dyn_cast<clang::VarDecl>(declared));
  };
  bool any = false;
  for (auto& one : piece.repeated) {
    auto* declaration = llvm::dyn_cast<clang::DeclStmt>(one.statement);
    if (declaration)
      for (auto* declared : declaration->decls())
        if (is_array(declared)) out += piece.indent + arrays_.at(llvm::cast<clang::VarDecl>(declared)) + ";\n";
  }
  std::string loops = in_loops(piece.axes, piece.indent, [&](const std::string& indent) {
    Lines lines;
    for (auto& one : piece.repeated) {
      auto* declaration = llvm::dyn_cast<clang::DeclStmt>(one.statement);
      bool changed = declaration && std::any_of(declaration->decl_begin(), declaration->decl_end(), is_array);
      Lines made =
          changed ? assignments(declaration) : Lines{with_names(moved(one.statement, indent), names_in_loops())};
      any |= !made.empty();
      lines.insert(lines.end(), one.comments.begin(), one.comments.end());
      if (!one.trailing.empty()) (made.empty() ? made.emplace_back() : made.back() += "  ") += one.trailing;
      lines.insert(lines.end(), made.begin(), made.end());
    }
    return lines;
  });
  if (any) out += loops;
}

void JammedCopies::write_copies(const Piece& piece, std::string& out) const {
  for (auto& one : piece.repeated) {
    for (auto& line : one.comments) out += piece.indent + line + "\n";
    for (auto& choice : choices(piece.axes))
      out += piece.indent + renamed(moved(one.statement, piece.indent), choice) + "\n";
  }
}

std::string JammedCopies::text(const std::vector<Piece>& pieces) const {
  std::string out;
  for (auto& piece : pieces) {
    if (piece.repeated.empty()) out += piece.indent + piece.text + "\n";
    else if (uses_arrays()) write_loops(piece, out);
    else write_copies(piece, out);
  }
  return out;
}

}  // namespace kernelift::tuner
