// Unroll-and-jam of a whole kernel: statements repeated for the neighbours of a thread or block along some axes, in
// loops that they share. What is repeated how often follows from what depends on which axis: a value that depends on x
// alone is computed once for all y. What is repeated stands in loops of constant bounds that are to be unrolled, and
// copies of a variable are elements of an array, which then lie in registers; or, where no array can be had, each
// statement is written once for each neighbour, and copies are told apart by a number behind their name. It knows
// nothing of why they are neighbours, nor of who is inside: rules do (jam, block_merging).
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuner/source/rules/kernel_source.h"

namespace kernelift {

/// `text` with whole identifiers replaced, members of other objects excepted, and `blockIdx.y` as one.
std::string with_names(const std::string& text, const std::map<std::string, std::string>& names);

class Neighbours {
 public:
  using Axes = unsigned;  ///< A bit per entry of `axes`.
  struct Axis {
    int64_t count = 1;                      ///< Neighbours along it.
    const clang::VarDecl* index = nullptr;  ///< What differs between them: this variable …
    std::string block = {};                 ///< … or this built-in one: "blockIdx.y", whose copies have the name …
    std::string name = {};                  ///< … "block_y", "block_y_1" and so on.
  };
  Neighbours(const KernelSource& source, std::vector<Axis> axes);

  /// Finds out what depends on which axis. Behind one of `guards` all neighbours are inside, or the text does not run.
  void spread(const std::vector<const clang::Stmt*>& statements, const std::set<const clang::IfStmt*>& guards);
  Axes axes_of(const clang::Stmt* statement) const;
  /// Of which axis a guard's condition, or its opposite where that `leaves`, is an upper bound: where a neighbour is
  /// inside, so are those before it, and none is that is far enough behind.
  Axes bounds(const clang::Expr* condition, bool leaves) const;
  const std::map<const clang::VarDecl*, Axes>& dependents() const { return depends_; }
  /// Every name that is to be replaced stands for one variable, is spelled within `range`, not in a macro, and has
  /// copies whose names are free.
  bool names_can_be_copied(const clang::Stmt* body, Span range);

  /// What statements become, in order: text as it is, or statements for all neighbours along some axes.
  struct Piece {
    struct Repeated {
      const clang::Stmt* statement = nullptr;
      std::vector<std::string> comments = {};  ///< Lines in front of it …
      std::string trailing = {};               ///< … and what stands behind it.
    };
    std::string indent, text = {};
    std::vector<Repeated> repeated = {};
    Axes axes = 0;
    bool reads = false, writes = false;  ///< Memory, by what is repeated.
  };
  /// Appends the statements, with the comments between them and from `begin` on; false if something speaks against it.
  bool plan(const std::vector<const clang::Stmt*>& statements, std::optional<size_t> begin, const std::string& indent,
            std::vector<Piece>& pieces) const;
  /// From now on copies are elements of arrays: of the indices, whose declarations these are by axis, and of what more
  /// than one piece mentions. False, and nothing changes: one of those cannot be an array's.
  bool use_arrays(const std::vector<Piece>& pieces, const std::vector<const clang::DeclStmt*>& indices);
  bool uses_arrays() const { return !arrays_.empty(); }
  std::string text(const std::vector<Piece>& pieces) const;
  /// With arrays in use, the declaration of that of the axis' index, and the loop that sets it to what `value` says of
  /// a number.
  std::string index_text(size_t axis, const std::string& indent,
                         const std::function<std::string(const std::string& number)>& value) const;

  /// Choices of neighbour, one number per axis; those of other axes are 0.
  std::vector<std::vector<int64_t>> choices(Axes axes) const;
  std::map<std::string, std::string> names_for(const std::vector<int64_t>& choice) const;
  std::string renamed(const std::string& text, const std::vector<int64_t>& choice) const {
    return with_names(text, names_for(choice));
  }

 private:
  /// Of the init, condition and increment.
  Axes axes_of_header(const clang::ForStmt* loop) const;
  void spread(const clang::Stmt* statement, Axes outer, const std::set<const clang::IfStmt*>& guards);
  bool names_are_free() const;
  bool may_be_done_once(const clang::Stmt* statement) const;
  using Lines = std::vector<std::string>;
  bool plan(const clang::Stmt* statement, Lines comments, const std::string& indent, std::vector<Piece>& pieces) const;
  bool plan_body(const clang::Stmt* body, const std::string& indent, std::vector<Piece>& pieces) const;
  /// A statement that is repeated as it is spelled.
  bool plan_copies(const clang::Stmt* statement, Lines comments, const std::string& indent,
                   std::vector<Piece>& pieces) const;
  void write_copies(const Piece& piece, std::string& out) const;
  void write_loops(const Piece& piece, std::string& out) const;
  /// The loops over neighbours along `axes`, around lines that are made for a given indentation.
  std::string in_loops(Axes axes, const std::string& indent,
                       const std::function<Lines(const std::string& indent)>& body) const;
  /// Each copy's spelling in those loops.
  std::map<std::string, std::string> names_in_loops() const;
  static std::string subscripts(Axes axes, const Lines& numbers);
  /// Of an array of the variable's copies; nullopt: there can be none.
  std::optional<std::string> array_declaration(const clang::DeclStmt* statement, const clang::VarDecl* variable) const;
  /// What becomes of a declaration some of whose variables are arrays now.
  Lines assignments(const clang::DeclStmt* statement) const;
  /// As it is spelled, for another place in the text.
  std::string moved(const clang::Stmt* statement, const std::string& indent) const;

  const KernelSource& source_;
  std::vector<Axis> axes_;
  std::map<const clang::VarDecl*, Axes> depends_;
  std::string separator_ = "_";                          ///< Between a variable's name and its neighbour's number.
  std::map<const clang::VarDecl*, std::string> arrays_;  ///< Whose copies are an array's elements, and its declaration.
  Lines counters_;                                       ///< Of the loops over neighbours, by axis.
};

}  // namespace kernelift
