// Hardware counters of one kernel launch, read by CUPTI's range profiler, as ncu does. They cannot all be read in one
// run: the launch is repeated once per pass, and the caller restores memory in between. CUPTI is opened at run time; if
// counters are not permitted, the Error says how to permit them.
#pragma once
#include <cuda.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/model/kernel_facts.h"

namespace kernelift::sandbox {

class CounterSession {
 public:
  /// For the current context of device `ordinal`. EXPECTS: cuInit was called; no other profiler is active in this
  /// process.
  static Result<std::unique_ptr<CounterSession>> open(int ordinal);
  ~CounterSession();

  /// `prepare` restores memory, `launch` launches once; both return when the device is idle. Fills in the members of
  /// `facts` that come from counters; those that this GPU does not count stay absent.
  Status measure(const std::function<Status()>& prepare, const std::function<Status()>& launch, KernelFacts& facts);
  size_t passes() const;  ///< Number of passes of the last measure().

 private:
  struct State;
  explicit CounterSession(std::unique_ptr<State>);
  std::unique_ptr<State> state_;
};

/// Converts metric values, by CUPTI's names, to facts; members without their metrics stay absent. Needs no GPU.
void facts_from_metrics(const std::map<std::string, double>& metrics, KernelFacts& facts);

/// CUPTI's names of the metrics that facts_from_metrics() reads.
const std::vector<std::string>& wanted_metrics();

}  // namespace kernelift::sandbox
