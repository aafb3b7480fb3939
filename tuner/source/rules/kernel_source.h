// A candidate's parsed source text. Rewrite rules decide by the AST and edit the spelled text, so that comments, macros
// and formatting of unchanged code are kept byte for byte. Positions are byte offsets into the text; code that a macro
// spells has no position and is not changed.
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
#include "tuner/source/rules/parsed_text.h"

namespace clang {
class ASTContext;
class CallExpr;
class Expr;
class ForStmt;
class FunctionDecl;
class SourceLocation;
class Stmt;
class VarDecl;
}  // namespace clang

namespace kernelift::tuner {

struct Span {
  size_t begin = 0, end = 0;
};

class KernelSource {
 public:
  /// `arguments`: clang's, as frontend_arguments() gives them. An Error holds the diagnostics.
  /// A template whose types are arguments says little of what it computes: with `Templates::AsInstances` it is seen as
  /// the instance that the text makes of it, if that is one, and what is spelled stays what it is.
  enum class Templates { AsSpelled, AsInstances };
  static Result<KernelSource> parse(const std::string& text, const std::vector<std::string>& arguments,
                                    Templates templates = Templates::AsSpelled);
  KernelSource(KernelSource&&) noexcept;
  KernelSource& operator=(KernelSource&&) noexcept;
  ~KernelSource();

  const std::string& text() const { return text_; }
  clang::ASTContext& context() const;
  /// Functions with a body in this text that the device may run, templates by their pattern, or instance; kernels among
  /// them, and the call operators of lambdas that host functions hand to a kernel. Lambdas within device functions are
  /// part of these.
  const std::vector<const clang::FunctionDecl*>& functions() const { return functions_; }
  /// Some function is a template.
  bool has_templates() const;
  /// Of a template that is seen as an instance: the variable, or one that the statement names, has a type that the
  /// template's arguments give. Its name there is no text for all instances.
  bool is_generic(const clang::VarDecl* variable) const;
  bool is_generic(const clang::Stmt* statement) const;
  /// Takes functions with these names (name()) out of functions().
  void leave_out(const std::set<std::string>& names);
  /// The __global__ function that a name expression ("app::k<3>") names, or nullptr.
  const clang::FunctionDecl* kernel(std::string_view name_expression) const;

  std::optional<size_t> offset(clang::SourceLocation location) const;
  /// From the first to past the last character of a statement, without its semicolon.
  std::optional<Span> span(const clang::Stmt* statement) const;
  /// Spelled text, or empty where a macro is involved.
  std::string spelled(const clang::Stmt* statement) const;
  /// The beginning of the line that contains `offset`; the blanks that this line begins with.
  size_t line_begin(size_t offset) const;
  std::string indentation(size_t offset) const;
  /// The text's indentation step: two spaces, a tab …
  std::string step() const;
  /// Indentation of the lines of a function's body.
  std::string body_indentation(const clang::FunctionDecl* function) const;
  /// Only blanks precede `offset` on its line.
  bool first_on_line(size_t offset) const;
  /// Past the semicolon or brace that ends the statement.
  std::optional<size_t> statement_end(const clang::Stmt* statement) const;
  const clang::Stmt* parent(const clang::Stmt* statement) const;
  /// The expression is a statement of its own.
  bool value_is_unused(const clang::Expr* expression) const;
  /// "the loop over j", "the second loop over j". Labels use no line numbers: the reader knows the application's lines
  /// and not this text's.
  std::string name(const clang::ForStmt* loop) const;
  /// "clamp", "the lambda in smooth", "the second lambda in main".
  std::string name(const clang::FunctionDecl* function) const;
  /// `stem`, or `stem` with a number, such that the name does not occur in the text.
  std::string fresh_name(const std::string& stem) const;

 private:
  KernelSource();
  /// Indentation of the body's first statement; nullopt if it does not begin a line.
  std::optional<std::string> seen_body_indentation(const clang::FunctionDecl* function) const;
  /// Indentation of the line on which the function begins.
  std::string outer_indentation(const clang::FunctionDecl* function) const;
  std::string text_;
  ParsedText parsed_;
  std::vector<const clang::FunctionDecl*> functions_;
  std::set<unsigned> generic_;  ///< Encoded places of variables whose types a template's arguments give.
  std::unordered_map<const clang::FunctionDecl*, std::string> lambdas_;  ///< Names of call operators.
  std::unordered_map<const clang::Stmt*, const clang::Stmt*> parents_;
};

// Queries on statements. Built-in variables (threadIdx.x …) count as leaves.

/// Visits `root` and its descendants in preorder; where `visit` returns false, the statement's children are skipped.
void walk(const clang::Stmt* root, const std::function<bool(const clang::Stmt*)>& visit);
/// The expression that the statement itself assigns to, increments or decrements; nullptr if there is none.
const clang::Expr* assigned_by(const clang::Stmt* statement);
/// The variable that contains the object: v of "v", "v.x" and "v[3]" (where v is an array). nullptr if a pointer leads
/// to the object.
const clang::VarDecl* variable_of(const clang::Expr* lvalue);
/// Variables that are assigned, incremented, declared or bound by reference, or whose address is taken; also arrays
/// that decay to a pointer through which they may be written.
std::set<const clang::VarDecl*> changed_within(const clang::Stmt* root);
/// The same without those that are only declared. What a reference leads to may change by it.
std::set<const clang::VarDecl*> changed_after_declaration(const clang::Stmt* root);
/// The address of a local variable is stored: `int* p = seen;`. changed_within() does not see that a write through p
/// changes `seen`.
bool keeps_addresses(const KernelSource& source, const clang::Stmt* root);
std::set<const clang::VarDecl*> variables_in(const clang::Stmt* root);
/// Whether this one is among them; none is where `root` is null.
bool mentions(const clang::Stmt* root, const clang::VarDecl* variable);
/// Name and member of a built-in variable, "blockIdx" and 'x', also where a macro spells it; the member is 0 if the
/// variable is used as a whole (`const uint3 b = blockIdx;`).
std::optional<std::pair<std::string, char>> builtin_of(const clang::Stmt* statement);
/// Literals, unchanged variables, built-in variables and arithmetic on them: no memory reads, calls or side effects.
bool is_invariant(const clang::Expr* expression, const std::set<const clang::VarDecl*>& changed);
/// The callee's definition (a template's pattern), or that of the only function that an unresolved name can mean;
/// nullptr if there is none in sight.
const clang::FunctionDecl* visible_callee(const clang::CallExpr* call);
/// The statement names another variable that may lead to the memory of `array`: another pointer, a structure.
bool touches_other_memory(const clang::Stmt* root, const clang::VarDecl* array);
/// The statement synchronises threads: __syncthreads and similar functions, warp shuffles and votes.
bool has_barrier(const clang::Stmt* root);
/// The statement contains a barrier at which all warps of a block wait.
bool has_block_barrier(const clang::Stmt* root);
/// The statement contains what counts or exchanges values of threads: shuffles, votes, barriers of a warp, and those of
/// a block that count.
bool has_vote_or_exchange(const clang::Stmt* root);
/// `extern __shared__ int tile[];`: the launch sets its size, and another run may use all the shared memory there is.
bool has_dynamic_shared(const KernelSource& source);
std::vector<const clang::ForStmt*> loops_in(const clang::FunctionDecl* function);
/// The variable that the expression names, apart from parentheses and implicit casts; nullptr for other expressions.
const clang::VarDecl* named_variable(const clang::Expr* expression);
/// The text without blanks and comments, for comparing expressions.
std::string squeezed(std::string_view text);

}  // namespace kernelift::tuner
