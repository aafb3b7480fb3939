// What all questions of one comparison share: both sides, the parameters of isl's sets and what they stand for, and the
// values of them that are asked about.
#pragma once
#include <isl/ctx.h>
#include <polly/isl/isl-noexceptions.h>

#include <map>
#include <string>
#include <vector>

#include "core/legality/index/instance_text.h"
#include "core/legality/legality.h"

namespace kernelift::legality {

/// Something that the candidate does and the original does not.
struct Wrong {
  isl::set parameters;  ///< For which it does.
  std::string what;     ///< "thread 3 of block 0 writes out[3], which …", or "one thread writes …".
  unsigned line = 0;
  bool may_be_right = false;  ///< It speaks against a proof, and refutes nothing.
  isl::set no_example = {};   ///< Sizes that are no example, as subscripts are no elements there; null: none are.
};

/// What one question gave.
struct Findings {
  std::vector<Wrong> wrong;
  std::string not_known;  ///< The answer depends on something that is not understood: what, and where; else empty.
  unsigned line = 0;      ///< Of that.
};

struct Setting {
  isl::ctx context;
  const Side& original;
  const Side& candidate;
  const Names names;
  Parameters parameters;
  isl::set asked;   ///< Values for which both grids can be launched and the original stays inside its arrays.
  isl::set unread;  ///< Of those, what is taken out again: the models do not say what happens. No proof has them.
  /// Values in memory that are the same for all instances: what they are made of.
  std::vector<std::pair<TermValue, std::vector<Expression>>> uniform;
  std::map<std::string, isl::set> read = {};  ///< Sets by their text: accesses under one condition have one.
  std::string why_unread = {};                ///< The first reason.

  /// The set of that text in isl's notation.
  const isl::set& set(const std::string& text);

  /// Within `asked` (or as it is), and without the numbers and positions of blocks and values in memory: those for
  /// which some of them make it so. Null: isl gave up.
  isl::set parameters_of(const isl::set& wrong, bool within = true) const;
  /// Terms of an access or barrier that have one value for all its instances become parameters.
  void fix_uniform_terms(InstanceText& text, const KernelModel& model, const std::set<std::string>& variables,
                         InstanceText::Scope scope);

  std::string shown(const Expression& expression) const;
  std::string shown(const KernelModel::Object& object) const;
  std::string shown(const KernelModel::Term& term) const;  ///< "an element of index"
  std::string example(const Bindings& values) const;       ///< "n = 5, w = 3"
};

/// " in line 7"; empty where it is not known.
std::string at_line(unsigned line);
inline bool is_empty(const isl::set& set) { return !set.is_null() && set.is_empty().is_true(); }
const char* word(KernelModel::Access::Kind kind);  ///< "reads", "writes", "changes"

}  // namespace kernelift::legality
