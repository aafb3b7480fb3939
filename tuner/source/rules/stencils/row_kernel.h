// A kernel whose threads compute one output each, by a global index, taken apart so that a thread can compute several
// consecutive ones: conditions on the index, what stays in front, and the work that is repeated.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tuner/source/rules/stencils/shifted_reads.h"
#include "tuner/source/rules/threads/axis_dependence.h"
#include "tuner/source/rules/threads/block_index.h"

namespace clang {
class CompoundStmt;
}

namespace kernelift::tuner {

class RowKernel {
 public:
  using Statements = std::vector<const clang::Stmt*>;

  /// `count`: outputs that a thread will compute. The index may be a grid-stride loop's.
  RowKernel(const KernelSource& source, const clang::FunctionDecl* kernel, const GlobalIndex& index, int64_t count);
  /// Kernels that may be asked about: without barriers, shared memory and stored addresses.
  static bool is_fit(const KernelSource& source, const clang::FunctionDecl* kernel);

  /// Finds the parts; false if there is more to the index than a lower and upper bounds.
  bool find_parts();
  /// Why the work cannot be repeated as it is; empty: it can.
  std::string why_not_repeated() const;

  const Statements& work() const { return work_; }
  const clang::CompoundStmt* body() const { return body_; }
  const IndexSums& sums() const { return sums_; }
  const GlobalIndex& index() const { return index_; }
  std::string index_name() const;
  bool bounded() const { return !upper_.empty(); }
  /// The lower bound; empty: 0.
  const std::string& lower_bound() const { return first_; }
  /// The upper bounds as a condition on the index; empty: there is none.
  std::string in_bounds() const;
  /// The first value of a thread's index: "i_first".
  const std::string& first_name() const { return first_name_; }
  /// "const int i = " with another name.
  std::string declares(const std::string& name) const;

  /// The work's text with the edits, its lines moved to the indentation.
  std::string work_text(const std::string& indent, const std::vector<TextEdit>& edits) const;
  /// Declarations in front of the work, or (`also_within`) also those in it, that these statements need, directly or
  /// through others.
  Statements needed_declarations(const Statements& by, bool also_within) const;
  std::string text_of(const std::string& indent, const Statements& statements) const;
  /// What becomes of the kernel, or of the grid-stride loop, if `text` gives the lines in place of the work; nullopt if
  /// a macro spells a part.
  std::optional<std::vector<TextEdit>> edits(const std::function<std::string(const std::string& indent)>& text) const;

 private:
  struct Part {
    const clang::Expr* condition;
    bool leaves;
  };
  bool split();
  bool split_loop();
  bool read_bounds();
  bool is_lower_bound(const clang::Expr* condition, bool leaves);
  std::optional<std::vector<TextEdit>> loop_edits(
      const std::function<std::string(const std::string& indent)>& text) const;
  /// Where the text of which the work is a part begins.
  size_t work_above() const;
  /// What a guard says about other indices.
  std::string others(const clang::IfStmt* guard, bool leaves) const;

  const KernelSource& source_;
  const clang::CompoundStmt* body_;
  const GlobalIndex& index_;
  const int64_t count_;
  IndexSums sums_;
  AxisDependence depends_;
  std::vector<const clang::IfStmt*> leaving_;  ///< `if (i >= n || j >= n) return;`
  const clang::IfStmt* around_ = nullptr;      ///< The guard that contains the work.
  Statements moved_;                           ///< Declarations in front of the work that depend on the index.
  Statements work_;
  std::vector<Part> upper_;
  std::string first_, first_name_, head_;
};

}  // namespace kernelift::tuner
