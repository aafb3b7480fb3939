// Reads of one array at constant distances along an index, as stencils have them: a[i - n], a[i], a[i + n] …, where the
// next value of the index reads elements that the previous ones have read. Subscripts are compared as sums of products
// of variables, through declarations such as `int at = i * n + j;`, and not as they are spelled.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tuner/source/rules/kernel_source.h"

namespace clang {
class ArraySubscriptExpr;
}

namespace kernelift::tuner {

/// An integer as a sum of products of variables, which are named by their declarations.
class IndexSum {
 public:
  using Factors = std::vector<std::string>;  ///< Sorted; one that occurs twice is there twice.

  IndexSum() = default;
  explicit IndexSum(int64_t constant);
  static IndexSum variable(const std::string& name);
  const std::map<Factors, int64_t>& products() const { return products_; }
  IndexSum plus(const IndexSum& other, int64_t times = 1) const;
  IndexSum times(const IndexSum& other) const;
  /// What the variable is multiplied by; nullopt if it is multiplied by itself.
  std::optional<IndexSum> coefficient(const std::string& variable) const;
  bool is_zero() const { return products_.empty(); }
  bool operator==(const IndexSum&) const = default;

 private:
  void add(const Factors& factors, int64_t coefficient);

  std::map<Factors, int64_t> products_;  ///< Coefficients, none of them 0.
};

/// Subscripts of a kernel's arrays as sums of an index and of variables that keep their values.
class IndexSums {
 public:
  IndexSums(const KernelSource& source, const clang::Stmt* kernel_body, const clang::VarDecl* index);
  /// Sums of several indices, the first of which is index().
  IndexSums(const KernelSource& source, const clang::Stmt* kernel_body, std::vector<const clang::VarDecl*> indices);
  /// nullopt: it has other parts, such as a value from memory.
  std::optional<IndexSum> of(const clang::Expr* expression) const { return of(expression, kDepth); }
  const std::string& index() const { return index_name_; }
  /// The name of the variable's factor.
  static std::string name(const clang::ValueDecl* variable);
  /// The variable gets other values after its declaration.
  bool changes(const clang::VarDecl* variable) const { return changed_.contains(variable); }

 private:
  static constexpr int kDepth = 8;  ///< Of declarations that are read through.
  std::optional<IndexSum> of(const clang::Expr* expression, int depth) const;
  std::optional<IndexSum> of_variable(const clang::ValueDecl* declared, int depth) const;
  /// The expression has one value for all values of the index.
  bool is_fixed(const clang::Expr* expression, int depth) const;

  const KernelSource& source_;
  bool is_index(const clang::ValueDecl* variable) const;

  std::vector<const clang::VarDecl*> indices_;
  std::string index_name_;
  std::set<const clang::VarDecl*> changed_;
};

/// Reads of one array whose elements are those of each other for other values of the index.
struct ReadRun {
  static constexpr size_t kWidestGap = 4;

  const clang::VarDecl* array = nullptr;
  /// By their distance from the first: reads of the same element, one that always happens in front. Neither the first
  /// nor the last is empty, and less than kWidestGap in a row are.
  std::vector<std::vector<const clang::ArraySubscriptExpr*>> at;

  /// How many values of the index later the element at this distance has been read as the next one; 0: the last.
  size_t gap(size_t distance) const;
};

/// The element's value is read, and not stored to.
bool is_read(const KernelSource& source, const clang::Expr* element);
/// All that the kernel does with the array is read its elements by a subscript.
bool is_only_read(const KernelSource& source, const clang::Stmt* kernel_body, const clang::VarDecl* array);

struct ShiftedReads {
  std::vector<ReadRun> runs;
  /// Why reads that look like a run are none: "`a` is read under a condition". Empty: there are no such.
  std::string why_not;
};

/// The runs along the index, of pointer parameters that the kernel only reads.
ShiftedReads shifted_reads(const KernelSource& source, const IndexSums& sums, const clang::Stmt* kernel_body,
                           const std::vector<const clang::Stmt*>& statements);

}  // namespace kernelift::tuner
