// Runs the original and a candidate on the CPU device as field runs (core/model/launch/field_run.h): on the recorded
// input that takes least, with its integers and every float drawn at random, and compares all the numbers that they
// leave. Rounding is not its business: that is judged by tolerances.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sandbox/evaluate/runner/field/field_conclusion.h"
#include "sandbox/evaluate/runner/verification.h"
#include "sandbox/jail/hidden_bytes.h"

namespace kernelift::sandbox {

class FieldEqualityRuns {
 public:
  explicit FieldEqualityRuns(Workbench& bench) : bench_(bench) {}

  /// `code`: the candidate's image for field runs, and the original's (RunnableCode::original).
  FieldEquality compare(const RunnableCode& code);

 private:
  /// What one run left and met.
  struct Run {
    std::vector<FieldObject> objects;
    HiddenBytes states;
    FieldReport report;
    std::string failure;  ///< Why it was not run to its end.
  };
  Run run(const LoadedCode& code, uint64_t seed, bool constants_meant);
  std::vector<FieldObject> objects(const LoadedCode& code) const;
  FieldNumbers compare(const Run& original, const Run& candidate, uint64_t seed) const;
  size_t cheapest() const;

  Workbench& bench_;
  size_t instance_ = 0;
};

}  // namespace kernelift::sandbox
