// Elements that are decided by rounding: where a comparison of floats chooses between two values, another rounding of
// what is compared leaves the other one, far beyond any tolerance. Which elements these are, the original itself says:
// it is run on inputs that are moved by a few units in their last places, and whatever is then as far from the answer
// as a candidate's result is no mistake of the candidate's. An element that does not move is held to its tolerance.
// Where more than one of a thousand moves by a part of itself that no rounding of a result explains, the computation is
// unstable: what it leaves on other inputs proves nothing, and no element is admitted.
#pragma once
#include <span>
#include <vector>

#include "core/model/element.h"

namespace kernelift::sandbox {

class UnsteadyElements {
 public:
  /// EXPECTS: a floating-point type.
  explicit UnsteadyElements(ElementType type) : type_(type) {}
  /// Adds the results of another run. `reference`: the answer. EXPECTS: equal sizes, the same in every call.
  void add(std::span<const std::byte> reference, std::span<const std::byte> run);
  /// EXPECTS: `expected`, the answer's element `index`, and `got` are finite.
  bool admits(size_t index, double expected, double got) const;

 private:
  ElementType type_;
  std::vector<float> moved_;  ///< The largest distances from the answer; 0: it stayed.
  bool few_ = false;          ///< Few of them are more than rounding a result explains.
};

}  // namespace kernelift::sandbox
