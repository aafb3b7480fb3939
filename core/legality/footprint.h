// What each access of a launch touches, as sets of elements in isl's notation. An array that is indexed as i * n + j
// gets two subscripts, with the condition that j stays below n.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/legality/setting.h"

namespace kernelift::legality {

/// How the elements of one object are numbered, on both sides of a comparison.
struct Shape {
  /// Products of parameters by which subscripts advance, from the largest to 1 (no factors), each with its coefficient:
  /// for 4 * (i * n + j) and elements of 4 bytes, {n, 1} and {1, 1}.
  std::vector<std::pair<Polynomial::Factors, int64_t>> strides;
  int64_t unit = 1;     ///< Bytes of an element.
  std::string trouble;  ///< Why there is none; empty if there is.
  /// No stride is a multiple of the next, as of a tensor with strides of its own along each axis. Equal subscripts are
  /// equal elements, and different ones may be one element: a question that needs them apart refuses, by `trouble`.
  bool crossing = false;
};

/// A term among the dimensions of a set of elements: its arguments, then its value.
struct TouchTerm {
  size_t arguments = 0;  ///< How many.
  TermValue value;
  std::string shown;  ///< For people, with the arguments of one access.
  bool operator==(const TouchTerm& other) const { return arguments == other.arguments && value == other.value; }
};

Shape common_shape(const std::vector<const KernelModel::Access*>& accesses);

/// Accesses to one object that together touch what the given ones do, each under the same condition. Those whose
/// elements are a constant step apart, as an unrolled loop's are, are one with a counter, where that makes them much
/// fewer; positions that are digits of one number are that number (index/merged_digits.h). Sets of elements are
/// compared much faster so. Their times are none. Empty: nothing is joined.
std::vector<KernelModel::Access> joined_accesses(const std::vector<const KernelModel::Access*>& accesses,
                                                 const Dim3& block);

class Touch {
 public:
  using Scope = InstanceText::Scope;
  Touch(Setting& setting, const Side& side, const KernelModel::Access& access, const Shape& shape, Scope scope);

  const KernelModel::Access& access() const { return *access_; }
  /// Where an element is touched: [subscripts…, then arguments and value of each term]. Null: isl gave up.
  const isl::set& elements() const { return elements_; }
  /// Parameters for which a subscript leaves its row, so that it is no subscript.
  const isl::set& leaves_row() const { return leaves_row_; }
  const std::vector<TouchTerm>& terms() const { return terms_; }
  /// Any of the terms' values may be in memory: each is one element of an argument.
  bool terms_are_inputs() const;
  bool exact() const { return reason_.empty(); }         ///< Otherwise elements() may be too large.
  const std::string& reason() const { return reason_; }  ///< Why it is not exact.
  /// The constants in its subscripts, which tell neighbours in a stencil apart. With what else it does, these elements
  /// are the same but for a shift: of touches with equal moving() under one domain, of equal width.
  const std::vector<int64_t>& constants() const { return constants_; }
  const std::map<Polynomial::Factors, int64_t>& moving() const { return moving_; }
  bool strides() const { return strides_; }  ///< An iteration of a grid-stride loop looks like a thread.
  /// In this component of what tells threads apart, in placed().
  bool strides_in(int component) const;

  /// The instances that touch elements: [positions…] to an element.
  isl::map instances() const;
  /// [what tells threads apart (6), block (3), time] to an element.
  isl::map placed() const;
  /// [what tells threads apart (6)] to an element.
  isl::map by_thread() const;
  /// Components of its time in the notation of placed(): numbers, or the tuple's dimensions "PREFIX0", …
  std::vector<std::string> time(const std::string& prefix) const;
  bool timed() const { return timed_; }  ///< Its block and time are known.

 private:
  const isl::set& all_instances() const;

  Setting* setting_;
  const KernelModel::Access* access_;
  isl::set elements_, leaves_row_;
  std::vector<int64_t> constants_;
  std::map<Polynomial::Factors, int64_t> moving_;
  std::vector<TouchTerm> terms_;
  std::vector<std::string> counters_;
  std::string reason_, parameters_, dimensions_, tuple_, constraints_, threads_, block_;
  bool strides_ = false, timed_ = true;
};

}  // namespace kernelift::legality
