// One launch of an executable graph, run in parts: the driver runs the graph as often as there are parts, with all
// nodes switched off but those of the part. So every node still runs exactly once, in an order that its edges allow,
// with its own parameters, and by the driver's own hand; what has not run when we stop is left to the application's own
// launch, and nothing is lost if we stop anywhere.
#pragma once
#include <vector>

#include "core/toolchain/cuda_driver.h"

namespace kernelift::record {

/// A node as far as its running is concerned.
struct GraphStep {
  CUgraphNode handle = nullptr;  ///< In the graph that the executable one was made from.
  bool empty = false;            ///< Only orders others; cannot be switched and need not be.
  std::vector<size_t> after;     ///< What it waits for.
};

class GraphParts {
 public:
  /// `driver` and `steps` outlive it.
  GraphParts(const CudaDriver& driver, const std::vector<GraphStep>& steps, CUgraphExec graph, CUstream stream)
      : driver_(driver), steps_(steps), graph_(graph), stream_(stream) {}

  /// Switches all nodes off. An Error: some node cannot be.
  Status begin();
  /// Would the application's launch run it?
  bool enabled(size_t step) const { return was_[step]; }
  /// Starts what the step waits for, directly or not, and has not run yet.
  Status run_before(size_t step);
  /// Starts this one alone.
  Status run(size_t step);
  /// Whatever has not run is switched on: the launch that follows runs it. The steps that could not be switched.
  const std::vector<size_t>& leave_rest();
  /// After that launch, or after begin() has failed: as the application had it. The steps that are not.
  const std::vector<size_t>& restore();

 private:
  bool set(size_t step, bool on);
  /// The steps that could not be switched, each tried twice.
  template <class Wanted>
  const std::vector<size_t>& switch_to(Wanted wanted);
  Status run_chosen(const std::vector<bool>& chosen);

  const CudaDriver& driver_;
  const std::vector<GraphStep>& steps_;
  CUgraphExec graph_;
  CUstream stream_;
  std::vector<bool> was_, on_, ran_;
  std::vector<size_t> failed_;  ///< Has room for all: nothing is allocated once nodes are off.
};

}  // namespace kernelift::record
