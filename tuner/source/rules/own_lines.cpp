// See own_lines.h. A comment behind a statement stays on the line of that statement.
#include "tuner/source/rules/own_lines.h"

#include <clang/AST/Decl.h>
#include <clang/AST/Stmt.h>

#include "tuner/source/rules/rule.h"

namespace kernelift::tuner {

std::optional<std::string> on_own_lines(const KernelSource& source, const std::string& kernel) {
  auto* function = source.kernel(kernel);
  auto* body = function ? llvm::dyn_cast_or_null<clang::CompoundStmt>(function->getBody()) : nullptr;
  auto close = body ? source.offset(body->getRBracLoc()) : std::nullopt;
  if (!close || !source.offset(body->getLBracLoc())) return std::nullopt;
  const std::string outer = source.indentation(*source.offset(function->getBeginLoc())), inner = outer + source.step();
  const std::string& text = source.text();
  std::vector<TextEdit> edits;
  auto split = [&](size_t at, const std::string& indent) {
    if (source.first_on_line(at)) return;
    size_t blank = at;
    while (blank > 0 && (text[blank - 1] == ' ' || text[blank - 1] == '\t')) --blank;
    edits.push_back({blank, at, "\n" + indent});
  };
  for (auto* statement : body->body()) {
    auto range = source.span(statement);
    if (!range || !source.statement_end(statement)) return std::nullopt;
    split(range->begin, inner);
  }
  split(*close, outer);
  return edits.empty() ? std::nullopt : apply_edits(text, edits);
}

}  // namespace kernelift::tuner
