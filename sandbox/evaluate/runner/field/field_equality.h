// Runs the original and a candidate on the CPU device as field runs (core/model/launch/field_run.h): on the recorded
// input that takes least, with its integers and every float drawn at random, and compares all the numbers that they
// leave. Rounding is not its business: that is judged by tolerances.
#pragma once
#include <optional>

#include "core/base/hash.h"
#include "sandbox/evaluate/runner/field/field_conclusion.h"
#include "sandbox/evaluate/runner/field/field_launch.h"

namespace kernelift::sandbox {

class FieldEqualityRuns {
 public:
  explicit FieldEqualityRuns(Workbench& bench) : bench_(bench) {}

  /// `code`: the candidate's image for field runs, and the original's (RunnableCode::original).
  FieldEquality compare(const RunnableCode& code);
  /// To be called before another calibration.
  void forget() { original_.reset(); }

 private:
  FieldNumbers compare(const FieldLaunch& original, const FieldLaunch& candidate, uint64_t seed) const;
  size_t cheapest() const;

  /// What the original left, for the next candidate; not if that is much.
  struct Original {
    Hash image;
    size_t instance = 0;
    uint64_t seed = 0;
    FieldLaunch launch;
  };

  Workbench& bench_;
  std::optional<Original> original_;
  size_t instance_ = 0;
};

}  // namespace kernelift::sandbox
