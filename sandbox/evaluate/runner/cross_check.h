// Compares two clocks: the original's launches are timed by events, from which all durations come (less the overhead of
// events), and by the profiler's records of the same launches. Done once per runner process; a disagreement is
// reported, not corrected.
#pragma once
#include <optional>
#include <string>

#include "core/base/json.h"

namespace kernelift::sandbox {

struct CrossCheck {
  std::string instance;                          ///< The instance that was launched.
  double event_seconds = 0, record_seconds = 0;  ///< Medians over the same launches.
  int launches = 0;
  std::string missing;  ///< Why there was no cross-check; empty: there was.

  /// Within 10 %, or 1.5 us where that is more. EXPECTS: nothing is missing.
  bool agrees() const;
  /// "timing confirmed by CUPTI on instance …", or why there was no cross-check.
  std::string text() const;
};

Json to_json(const CrossCheck& check);
Result<CrossCheck> cross_check_from_json(const Json& from, const std::string& where);

}  // namespace kernelift::sandbox
