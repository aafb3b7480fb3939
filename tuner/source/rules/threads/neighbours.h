// Unroll-and-jam of a whole kernel: statements repeated for the neighbours of a thread or block along some axes, in loops
// that they share. What is repeated how often follows from what depends on which axis: a value that depends on x alone is
// computed once for all y. Copies of a variable are told apart by a number behind its name. It knows nothing of why they
// are neighbours, nor of who is inside: rules do (jam, merge_blocks).
#pragma once
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
  using Axes = unsigned;                          ///< A bit per entry of `axes`.
  struct Axis {
    int64_t count = 1;                            ///< Neighbours along it.
    const clang::VarDecl* index = nullptr;        ///< What differs between them: this variable …
    std::string block = {};                       ///< … or this built-in one: "blockIdx.y", whose copies have the name …
    std::string name = {};                        ///< … "block_y", "block_y_1" and so on.
  };
  Neighbours(const KernelSource& source, std::vector<Axis> axes);

  /// Finds out what depends on which axis. Behind one of `guards` all neighbours are inside, or the text does not run.
  void spread(const std::vector<const clang::Stmt*>& statements, const std::set<const clang::IfStmt*>& guards);
  Axes axes_of(const clang::Stmt* statement) const;
  const std::map<const clang::VarDecl*, Axes>& dependents() const { return depends_; }
  /// Every name that is to be replaced stands for one variable, is spelled within `range`, not in a macro, and has copies
  /// whose names are free.
  bool names_can_be_copied(const clang::Stmt* body, Span range);

  /// Choices of neighbour, one number per axis; those of other axes are 0.
  std::vector<std::vector<int64_t>> choices(Axes axes) const;
  std::map<std::string, std::string> names_for(const std::vector<int64_t>& choice) const;
  std::string renamed(const std::string& text, const std::vector<int64_t>& choice) const { return with_names(text, names_for(choice)); }

  /// Appends the statements, repeated; false if something speaks against it.
  bool jam(const std::vector<const clang::Stmt*>& statements, const std::string& indent, std::string& out) const;

 private:
  /// Of the init, condition and increment.
  Axes axes_of_header(const clang::ForStmt* loop) const;
  void spread(const clang::Stmt* statement, Axes outer, const std::set<const clang::IfStmt*>& guards);
  bool names_are_free() const;
  /// Every copy of a statement that is repeated as it is spelled.
  bool copy(const clang::Stmt* statement, const std::string& indent, std::string& out) const;
  bool jam(const clang::Stmt* statement, const std::string& indent, std::string& out) const;
  bool may_be_done_once(const clang::Stmt* statement) const;

  const KernelSource& source_;
  std::vector<Axis> axes_;
  std::map<const clang::VarDecl*, Axes> depends_;
  std::string separator_ = "_";                   ///< Between a variable's name and its neighbour's number.
};

}  // namespace kernelift
