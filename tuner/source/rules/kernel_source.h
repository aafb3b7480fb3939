// A candidate's text, parsed: what rewrite rules look at. Rules read the AST to decide and edit the spelled text, so
// that comments, macros and formatting of untouched code survive to the byte. Positions are byte offsets into the text;
// whatever was spelled by a macro has none and is left alone.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"

namespace clang {
class ASTContext;
class ASTUnit;
class CallExpr;
class Expr;
class ForStmt;
class FunctionDecl;
class SourceLocation;
class Stmt;
class VarDecl;
}  // namespace clang

namespace kernelift {

struct Span {
  size_t begin = 0, end = 0;
};

class KernelSource {
 public:
  /// `arguments`: clang's, as frontend_arguments() gives them. An Error holds the diagnostics.
  static Result<KernelSource> parse(const std::string& text, const std::vector<std::string>& arguments);
  KernelSource(KernelSource&&) noexcept;
  KernelSource& operator=(KernelSource&&) noexcept;
  ~KernelSource();

  const std::string& text() const { return text_; }
  clang::ASTContext& context() const;
  /// Functions with a body in this text, templates by their pattern; kernels among them.
  const std::vector<const clang::FunctionDecl*>& functions() const { return functions_; }
  /// The __global__ function that a name expression ("app::k<3>") speaks of, or nullptr.
  const clang::FunctionDecl* kernel(std::string_view name_expression) const;

  std::optional<size_t> offset(clang::SourceLocation location) const;
  /// From the first to past the last character of a statement, without its semicolon.
  std::optional<Span> span(const clang::Stmt* statement) const;
  /// Spelled text, or empty where a macro is involved.
  std::string spelled(const clang::Stmt* statement) const;
  /// Where the line of `offset` begins, and its leading blanks.
  size_t line_begin(size_t offset) const;
  std::string indentation(size_t offset) const;
  /// What one level more adds to that in this text: two spaces, a tab …
  std::string step() const;
  /// Of the lines of a function's body.
  std::string body_indentation(const clang::FunctionDecl* function) const;
  /// Nothing but blanks stands before `offset` on its line.
  bool first_on_line(size_t offset) const;
  /// Past the semicolon or brace that ends the statement.
  std::optional<size_t> statement_end(const clang::Stmt* statement) const;
  const clang::Stmt* parent(const clang::Stmt* statement) const;
  /// The expression is a statement of its own.
  bool value_is_unused(const clang::Expr* expression) const;
  /// For people, who know their own lines and not this text's: "the loop over j", "the second loop over j".
  std::string name(const clang::ForStmt* loop) const;
  /// `stem`, or stem with a number, that occurs nowhere in the text.
  std::string fresh_name(const std::string& stem) const;

 private:
  KernelSource();
  /// As its first statement stands; nothing where that does not begin a line.
  std::optional<std::string> seen_body_indentation(const clang::FunctionDecl* function) const;
  /// Of the line that a function begins on.
  std::string outer_indentation(const clang::FunctionDecl* function) const;
  std::string text_;
  std::unique_ptr<clang::ASTUnit> unit_;
  std::vector<const clang::FunctionDecl*> functions_;
  std::unordered_map<const clang::Stmt*, const clang::Stmt*> parents_;
};

// What rules ask of statements. Built-in variables (threadIdx.x …) count as leaves.

/// Visits `root` and all below it; returning false keeps out of a statement's children.
void walk(const clang::Stmt* root, const std::function<bool(const clang::Stmt*)>& visit);
/// What a statement assigns to, increments or decrements itself; nullptr if it does none of these.
const clang::Expr* assigned_by(const clang::Stmt* statement);
/// The variable at the root of "v", "v.x", "v[3]" (an array of its own), but not what a pointer points at; or nullptr.
const clang::VarDecl* variable_of(const clang::Expr* lvalue);
/// Variables that are assigned, incremented, declared, bound by reference or have their address taken within; arrays
/// too, where they become a pointer through which they may be written.
std::set<const clang::VarDecl*> changed_within(const clang::Stmt* root);
/// A pointer to a variable of the thread's own is kept in another: `int* p = seen;`. Who writes through it is not seen
/// to change `seen`.
bool keeps_addresses(const KernelSource& source, const clang::Stmt* root);
std::set<const clang::VarDecl*> variables_in(const clang::Stmt* root);
/// Which built-in variable it is, "blockIdx" and 'x', however it is spelled; 0 of one that is used whole, `const uint3
/// b = blockIdx;`.
std::optional<std::pair<std::string, char>> builtin_of(const clang::Stmt* statement);
/// Literals, unchanged variables, built-in variables and arithmetic on them: no memory reads, calls or side effects.
bool is_invariant(const clang::Expr* expression, const std::set<const clang::VarDecl*>& changed);
/// The definition that a call runs, a template's by its pattern, if it can be seen: the callee, or the only function of
/// an unresolved name; or nullptr.
const clang::FunctionDecl* visible_callee(const clang::CallExpr* call);
/// Names something else than `array` that may lead to its memory: another pointer, a structure.
bool touches_other_memory(const clang::Stmt* root, const clang::VarDecl* array);
/// __syncthreads and its kin, warp shuffles and votes.
bool has_barrier(const clang::Stmt* root);
/// Those for which all warps of a block wait.
bool has_block_barrier(const clang::Stmt* root);
/// `extern __shared__ int tile[];`: how large it is the launch says, and another run's may ask for all that there is.
bool has_dynamic_shared(const KernelSource& source);
std::vector<const clang::ForStmt*> loops_in(const clang::FunctionDecl* function);
/// The variable of the expression if, parentheses and implicit casts aside, it is a plain name.
const clang::VarDecl* named_variable(const clang::Expr* expression);
/// Text without blanks and comments, to compare expressions.
std::string squeezed(std::string_view text);

}  // namespace kernelift
