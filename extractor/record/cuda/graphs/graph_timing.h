// Whether the kernels of a graph's launch are timed one by one. That costs the application about a microsecond for each,
// so graphs are traced as wholes, whose records nobody reads, and the few launches that are worth it are made with that
// switched off, while no other thread can launch one.
#pragma once
#include "extractor/record/cuda/cupti/cupti.h"
#include "extractor/record/cuda/quiet/gate.h"

namespace kernelift {

class GraphTiming {
 public:
  GraphTiming(const Cupti& cupti, Gate& gate) : cupti_(cupti), gate_(gate) {}

  /// Kernels are timed from now on; with a CUPTI that cannot trace wholes, all of them.
  void start();
  bool only_wholes() const { return wholes_; }
  /// EXPECTS: inside the gate. True: alone, and kernels of graphs are timed until shut(). False: inside as before.
  bool open();
  /// The thread is outside the gate.
  void shut();
  /// For a thread that is alone already.
  void kernels(bool timed);

 private:
  const Cupti& cupti_;
  Gate& gate_;
  std::atomic<bool> wholes_{false};
};

}  // namespace kernelift
