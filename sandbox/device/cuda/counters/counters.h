// Hardware counters of one kernel launch, read by CUPTI's range profiler (what ncu reads, without ncu). The counters do
// not fit in one run: the launch is repeated once per pass, everything put back in between by the caller. CUPTI is
// opened at run time; where counters are not permitted the Error says so and what permits them.
#pragma once
#include <cuda.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/kernel_facts.h"

namespace kernelift {

class CounterSession {
 public:
  /// For the current context of device `ordinal`. No other profiler may be at work in this process. EXPECTS: cuInit
  /// done.
  static Result<std::unique_ptr<CounterSession>> open(int ordinal);
  ~CounterSession();

  /// `prepare` puts everything back, `launch` launches once; both return when the device is done. Fills in what
  /// counters tell of the launch; what this GPU does not count stays absent.
  Status measure(const std::function<Status()>& prepare, const std::function<Status()>& launch, KernelFacts& facts);
  size_t passes() const;  ///< Of the last measure().

 private:
  struct State;
  explicit CounterSession(std::unique_ptr<State>);
  std::unique_ptr<State> state_;
};

/// Metric values by CUPTI's names to facts; metrics that are absent stay so. Pure, for tests.
void facts_from_metrics(const std::map<std::string, double>& metrics, KernelFacts& facts);

/// CUPTI's names of the metrics that facts_from_metrics() understands.
const std::vector<std::string>& wanted_metrics();

}  // namespace kernelift
