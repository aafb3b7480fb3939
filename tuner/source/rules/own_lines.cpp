// See own_lines.h. A comment behind a statement stays on the line of that statement.
#include "tuner/source/rules/own_lines.h"

#include <clang/AST/Decl.h>
#include <clang/AST/Stmt.h>

#include "tuner/source/rules/rule.h"

namespace kernelift::tuner {
namespace {

class Lines {
 public:
  explicit Lines(const KernelSource& source) : source_(source) {}

  /// Splits the block, whose statement is indented by `outer`, and the blocks in it. False: a macro spells a part of
  /// it.
  bool split(const clang::CompoundStmt* block, const std::string& outer) {
    auto close = source_.offset(block->getRBracLoc());
    if (!close || !source_.offset(block->getLBracLoc())) return false;
    const std::string inner = outer + source_.step();
    std::vector<TextEdit> before = edits_;
    for (auto* statement : block->body()) {
      auto range = source_.span(statement);
      if (!range || !source_.statement_end(statement)) return edits_ = std::move(before), false;
      begin_line(range->begin, inner);
      split_within(statement, source_.first_on_line(range->begin) ? source_.indentation(range->begin) : inner);
    }
    begin_line(*close, outer);
    return true;
  }
  const std::vector<TextEdit>& edits() const { return edits_; }

 private:
  void begin_line(size_t at, const std::string& indent) {
    if (source_.first_on_line(at)) return;
    size_t blank = at;
    while (blank > 0 && (source_.text()[blank - 1] == ' ' || source_.text()[blank - 1] == '\t')) --blank;
    edits_.push_back({blank, at, "\n" + indent});
  }
  /// The blocks of an if or a loop, not those of a lambda, and not `{ x[i] = 1; }`.
  void split_within(const clang::Stmt* statement, const std::string& indent) {
    auto controls = [](const clang::Stmt* one) {
      return llvm::isa<clang::IfStmt, clang::ForStmt, clang::WhileStmt, clang::DoStmt>(one);
    };
    if (auto* block = llvm::dyn_cast<clang::CompoundStmt>(statement)) {
      if (block->size() > 1 || (block->size() == 1 && controls(block->body_front()))) (void)split(block, indent);
      return;
    }
    if (!controls(statement)) return;
    for (auto* child : statement->children())
      if (child) split_within(child, indent);
  }

  const KernelSource& source_;
  std::vector<TextEdit> edits_;
};

}  // namespace

std::optional<std::string> on_own_lines(const KernelSource& source, const std::string& kernel) {
  auto* function = source.kernel(kernel);
  auto* body = function ? llvm::dyn_cast_or_null<clang::CompoundStmt>(function->getBody()) : nullptr;
  auto name = body ? source.offset(function->getLocation()) : std::nullopt;
  Lines lines(source);
  if (!name || !lines.split(body, source.indentation(*name)) || lines.edits().empty()) return std::nullopt;
  return apply_edits(source.text(), lines.edits());
}

}  // namespace kernelift::tuner
