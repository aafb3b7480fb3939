// The seam between tuner and sandbox: give a candidate, get a verdict, later. Real ones compile, run and judge
// (sandbox/evaluate); `simulate` answers from recorded trials; tests use a fake. Thread-safe.
#pragma once
#include <future>

#include "core/model/candidate.h"
#include "core/model/verdict.h"

namespace kernelift {

class Evaluator {
 public:
  virtual ~Evaluator() = default;
  /// Never throws and never fails: whatever goes wrong with the candidate is in the verdict.
  virtual std::future<Verdict> submit(Candidate candidate) = 0;
  /// How many submissions can usefully be in flight.
  virtual int parallelism() const { return 1; }
  /// What is in flight is no longer of interest: its futures are answered soon, as timed out where it was not done.
  virtual void abandon() {}
  /// Re-times a finalist in a fresh process with fresh samples and the held-out instances; its figures are the ones reported.
  virtual Verdict confirm(const Candidate& candidate) = 0;
};

}  // namespace kernelift
