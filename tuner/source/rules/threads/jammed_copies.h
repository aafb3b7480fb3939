// Statements of a kernel repeated for neighbouring threads or blocks, in shared loops (unroll-and-jam). Repeated
// statements stand in loops of constant bounds that are to be unrolled, and copies of a variable are elements of an
// array, which the compiler then keeps in registers. Where a variable cannot become an array, every statement is
// written once per neighbour, and copies have a number behind their name. The rules (unroll_and_jam, block_merging,
// thread_coarsening) decide which threads or blocks are combined, and guard the rewritten text.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuner/source/rules/kernel_source.h"
#include "tuner/source/rules/threads/axis_dependence.h"

namespace kernelift::tuner {

/// `text` with identifiers replaced, except for members of other objects; `blockIdx.y`, `threadIdx.x` and `blockDim.x`
/// count as one identifier each.
std::string with_names(const std::string& text, const std::map<std::string, std::string>& names);

class JammedCopies {
 public:
  using Axes = AxisDependence::Axes;
  JammedCopies(const KernelSource& source, std::vector<JamAxis> axes, bool shared_is_common = false)
      : source_(source), depends_(source, std::move(axes), shared_is_common) {}

  AxisDependence& dependence() { return depends_; }
  const AxisDependence& dependence() const { return depends_; }
  /// Whether every name that has copies names a single variable, is spelled within `range` and not by a macro, and the
  /// copies' names are unused.
  bool names_can_be_copied(const clang::Stmt* body, Span range);

  /// A part of the rewritten text: a line of text, or statements that are repeated along the same axes.
  struct Piece {
    struct Repeated {
      const clang::Stmt* statement = nullptr;
      std::vector<std::string> comments = {};  ///< Comment lines before it.
      std::string trailing = {};               ///< Comment behind it on its line.
    };
    std::string indent, text = {};
    std::vector<Repeated> repeated = {};
    Axes axes = 0;
    bool reads = false, writes = false;  ///< The repeated statements read or write memory.
  };
  /// Appends the statements' pieces, with the comments between them and from `begin` on; false if they cannot be
  /// repeated.
  bool plan(const std::vector<const clang::Stmt*>& statements, std::optional<size_t> begin, const std::string& indent,
            std::vector<Piece>& pieces) const;
  /// Makes copies elements of arrays: those of the indices (`indices` are their declarations, by axis) and those of
  /// variables that several pieces mention. False, and nothing changes, if one of them cannot become an array.
  bool use_arrays(const std::vector<Piece>& pieces, const std::vector<const clang::DeclStmt*>& indices);
  bool uses_arrays() const { return !counters_.empty(); }
  std::string text(const std::vector<Piece>& pieces) const;
  /// With arrays in use: the declaration of the axis' index array, and the loop that sets its elements to
  /// `value(number)`.
  std::string index_text(size_t axis, const std::string& indent,
                         const std::function<std::string(const std::string& number)>& value) const;

  /// All neighbours along `axes`: their numbers, one per axis, 0 for other axes.
  std::vector<std::vector<int64_t>> choices(Axes axes) const;
  std::map<std::string, std::string> names_for(const std::vector<int64_t>& choice) const;
  std::string renamed(const std::string& text, const std::vector<int64_t>& choice) const {
    return with_names(text, names_for(choice));
  }

 private:
  using Lines = std::vector<std::string>;
  const std::vector<JamAxis>& jam_axes() const { return depends_.axes(); }
  bool names_are_free() const;
  bool may_be_done_once(const clang::Stmt* statement) const;
  bool plan(const clang::Stmt* statement, Lines comments, const std::string& indent, std::vector<Piece>& pieces) const;
  bool plan_body(const clang::Stmt* body, const std::string& indent, std::vector<Piece>& pieces) const;
  /// Plans a statement whose spelled text is repeated as a whole.
  bool plan_copies(const clang::Stmt* statement, Lines comments, const std::string& indent,
                   std::vector<Piece>& pieces) const;
  void write_copies(const Piece& piece, std::string& out) const;
  void write_loops(const Piece& piece, std::string& out) const;
  /// Loops over the neighbours along `axes`, around the lines that `body` returns for their indentation.
  std::string in_loops(Axes axes, const std::string& indent,
                       const std::function<Lines(const std::string& indent)>& body) const;
  /// Names of the copies inside these loops: "i[u]".
  std::map<std::string, std::string> names_in_loops() const;
  static std::string subscripts(Axes axes, const Lines& numbers);
  /// Declaration of the array that holds the variable's copies; nullopt if it cannot have one.
  std::optional<std::string> array_declaration(const clang::DeclStmt* statement, const clang::VarDecl* variable) const;
  /// The lines that replace a declaration some of whose variables are arrays now.
  Lines assignments(const clang::DeclStmt* statement) const;
  /// The statement's text with another indentation.
  std::string moved(const clang::Stmt* statement, const std::string& indent) const;

  const KernelSource& source_;
  AxisDependence depends_;
  std::string separator_ = "_";                          ///< Between a variable's name and its neighbour's number.
  std::map<const clang::VarDecl*, std::string> arrays_;  ///< Variables whose copies are array elements: declarations.
  Lines counters_;  ///< Counters of the loops over neighbours, by axis; empty: every copy is written.
};

}  // namespace kernelift::tuner
