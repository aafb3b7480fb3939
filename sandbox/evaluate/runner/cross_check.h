// Is what two events measure what the GPU itself says? The original's launches, timed both ways: by the events that all
// our durations come from, less what they measure of nothing, and by the profiler's records of the same launches. Done
// once in a runner's process; what it finds is said, not corrected.
#pragma once
#include <optional>
#include <string>

#include "core/base/json.h"

namespace kernelift {

struct CrossCheck {
  std::string instance;                          ///< Whose launches.
  double event_seconds = 0, record_seconds = 0;  ///< Medians over the same launches.
  int launches = 0;
  std::string missing;  ///< Why there are no records; empty: there are.

  /// Within 10 %, or 1.5 us where that is more. EXPECTS: nothing is missing.
  bool agrees() const;
  /// "timing cross-checked with CUPTI on instance …", or why it is not.
  std::string text() const;
};

Json to_json(const CrossCheck& check);
Result<CrossCheck> cross_check_from_json(const Json& from, const std::string& where);

}  // namespace kernelift
