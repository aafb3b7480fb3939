// How one buffer is compared with its reference: the layout of its elements and, for each lane of an element, the
// largest accepted distance. For an array of particles, the floats are compared within a tolerance, the integer id
// exactly, and padding is not compared.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/model/element_layout.h"
#include "sandbox/judge/comparator.h"

namespace kernelift::sandbox {

struct ErrorBounds {
  ElementLayout layout;
  std::vector<FloatTolerance> tolerances;  ///< One per lane.
  /// Empty, or one per lane (null for lanes without one). They belong to one answer: bounds copied for another answer
  /// need their own.
  std::vector<std::shared_ptr<const NearerReference>> nearer;
  std::vector<std::shared_ptr<const LengthBound>> by_length;      ///< The same.
  std::vector<std::shared_ptr<const UnsteadyElements>> unsteady;  ///< The same.
  bool by_length_lent = false;  ///< It is LengthBound::between() other answers' bounds.
  /// These bounds are another answer's from now on.
  void forget_answer() { nearer.clear(), by_length.clear(), unsteady.clear(), by_length_lent = false; }

  explicit ErrorBounds(ElementLayout of = {});
  /// EXPECTS: equal sizes. Indices and offsets in the result count elements and bytes of the whole buffer.
  /// `held_to_length`: what is within `by_length` is right as well.
  Comparison compare(std::span<const std::byte> expected, std::span<const std::byte> got,
                     bool held_to_length = false) const;
  /// All tolerances as text for a user, without repetitions.
  std::string text() const;

 private:
  Comparator comparator(size_t lane, bool held_to_length) const;
};

}  // namespace kernelift::sandbox
