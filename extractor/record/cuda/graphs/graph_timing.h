// Whether CUPTI times the kernels of a graph's launch one by one. That costs the application about a microsecond for
// each; so graphs are traced as wholes, and a few launches are made with that switched off. Another thread's launch
// meanwhile is traced one way or the other, as its records tell.
#pragma once
#include <atomic>

#include "extractor/record/cuda/cupti/cupti.h"

namespace kernelift {

class GraphTiming {
 public:
  explicit GraphTiming(const Cupti& cupti) : cupti_(cupti) {}
  /// Kernels are timed from now on; with a CUPTI that cannot trace wholes, all of them.
  void start();
  bool only_wholes() const { return wholes_; }
  /// Of the launches that follow.
  void time_kernels(bool on);

 private:
  const Cupti& cupti_;
  std::atomic<bool> wholes_{false};
};

}  // namespace kernelift
