// What each access of a launch touches, as relations of isl from instances (thread, block, iteration) to elements. An
// array that is indexed as i * n + j gets two subscripts, with the condition that j stays below n.
#pragma once
#include <isl/ctx.h>
#include <polly/isl/isl-noexceptions.h>

#include <string>
#include <vector>

#include "core/legality/legality.h"

namespace kernelift::legality {

/// How the elements of one object are numbered, on both sides of a comparison.
struct Shape {
  /// Products of parameters by which subscripts advance, from the largest to 1 (no factors), each with its coefficient:
  /// for 4 * (i * n + j) and elements of 4 bytes, {n, 1} and {1, 1}.
  std::vector<std::pair<Polynomial::Factors, int64_t>> strides;
  int64_t unit = 1;     ///< Bytes of an element.
  std::string trouble;  ///< Why there is none; empty if there is.
};

struct Touch {
  const KernelModel::Access* access = nullptr;
  isl::map elements;                  ///< Of instances to [subscripts…, then arguments and value of each term].
  std::vector<std::string> terms;     ///< Their texts, each with its number of arguments in front.
  std::vector<std::string> threads;   ///< Dimensions that tell threads apart.
  isl::map times;                     ///< Of instances to T[block, time], as KernelModel::Time is compared.
  bool strides = false;               ///< One of `threads` stands for iterations, too.
  bool exact = true;                  ///< Otherwise `elements` may be too large.
  std::string reason;                 ///< Why it is not exact.
  isl::set leaves_row;                ///< Parameters for which a subscript leaves its row.
};

/// An object in both models; indices into KernelModel::objects, or none.
struct SharedObject {
  std::optional<size_t> original, candidate;
};

/// Components of the longest time of a kernel's accesses and barriers.
size_t time_length(const KernelModel& model);
/// Block and time as a tuple of isl, padded to the length.
std::string time_tuple(InstanceText& text, const KernelModel::Time& time, size_t length);

Shape common_shape(const std::vector<const KernelModel::Access*>& accesses);
/// A null `elements`: isl gave up.
Touch touch(isl::ctx context, const Side& side, const KernelModel::Access& access, const Shape& shape,
            Parameters& parameters, size_t time_length);

}  // namespace kernelift::legality
