// What a runner whose device cannot run the original for its error bounds (length_bounds.h) asks a runner of the CPU
// device that has the same MEP: a launch, by what its memory holds, and the answer.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/evaluate/runner/sizes/sized_instance.h"
#include "sandbox/jail/channel.h"
#include "sandbox/judge/length_bound.h"

namespace kernelift::sandbox {

/// Bytes of a region with bounds: a reduction's results are few.
inline constexpr uint64_t kLargestBounded = 16 << 20;

struct LengthQuestion {
  std::string instance;                ///< The recorded instance's id: runners may number them differently.
  std::optional<SizedInstance> sized;  ///< At a size that was not recorded; its index of an instance says nothing.
  /// What a buffer holds before the launch, where that is not what was recorded.
  struct Contents {
    size_t index = 0;  ///< Into ReplayInstance::regions or variables.
    std::string bytes;
  };
  std::vector<Contents> regions, variables;
  std::vector<size_t> wanted;  ///< Regions of whose elements bounds are asked.
  std::optional<Deadline> deadline;
  uint64_t era = 0;  ///< Inquiry::era.
};

struct LengthAnswer {
  struct Region {
    size_t index = 0;
    std::vector<BesideLane> lanes;  ///< Without elements where nothing is known.
  };
  std::vector<Region> regions;
  std::string why_not;  ///< Nothing is known, and why; or empty.
  bool later = false;   ///< It may be known another time: there was no time left.
};

/// Answers in the order of the questions, which are answered side by side where that is possible.
using AskLengths = std::function<std::vector<LengthAnswer>(const std::vector<LengthQuestion>&)>;

}  // namespace kernelift::sandbox
