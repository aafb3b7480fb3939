// What helped a kernel: the steps from its original to its winner.
#pragma once
#include <string>
#include <vector>

#include "core/model/candidate/candidate.h"

namespace kernelift::tuner {

struct Chain {
  std::string kernel;  ///< For people.
  std::vector<Step> steps;
};

}  // namespace kernelift::tuner
