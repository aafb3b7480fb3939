// Runs the original and a candidate on the CPU device as field runs (core/model/launch/field_run.h): on the recorded
// input that takes least, with its integers and every float drawn at random, and compares all the numbers that they
// leave. Rounding is not its business: that is judged by tolerances.
#pragma once
#include "sandbox/evaluate/runner/field/field_conclusion.h"
#include "sandbox/evaluate/runner/field/field_launch.h"

namespace kernelift::sandbox {

class FieldEqualityRuns {
 public:
  explicit FieldEqualityRuns(Workbench& bench) : bench_(bench) {}

  /// `code`: the candidate's image for field runs, and the original's (RunnableCode::original).
  FieldEquality compare(const RunnableCode& code);

 private:
  FieldNumbers compare(const FieldLaunch& original, const FieldLaunch& candidate, uint64_t seed) const;
  size_t cheapest() const;

  Workbench& bench_;
  size_t instance_ = 0;
};

}  // namespace kernelift::sandbox
