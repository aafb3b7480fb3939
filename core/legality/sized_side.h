// A side of a comparison with numbers in the place of its parameters.
#pragma once
#include <vector>

#include "core/legality/legality.h"

namespace kernelift::legality {

class SizedSide {
 public:
  SizedSide(const Side& side, const Bindings& sizes);
  Side side() const { return {model_, launch_}; }

 private:
  KernelModel model_;
  LaunchShape launch_;
};

/// A few sizes, some of them no multiples of ordinary blocks, for all integer parameters that the sides use.
std::vector<Bindings> trial_sizes(const Side& original, const Side& candidate);

}  // namespace kernelift::legality
