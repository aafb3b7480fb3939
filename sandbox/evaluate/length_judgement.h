// What becomes of a candidate that the tolerance derived from the original refuses: one that computes the original's
// formula is judged once more, held to the error bounds of the original's sums (Inquiry::held_to_length). The rule is
// that of every device; the evaluator provides the comparison of formulas and the second judgement.
#pragma once
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "core/model/mep.h"
#include "core/model/verdict/field_equality.h"
#include "sandbox/evaluate/runner/inquiry.h"

namespace kernelift::sandbox {

class LengthJudgement {
 public:
  struct Ask {
    std::function<FieldEquality(Deadline until)> formula;  ///< What field runs say of the candidate.
    bool known = false;                                    ///< That is known already, or cannot be, and takes no time.
    /// Judges the candidate again, held to the bounds. nullopt: there was no time; NotJudged: why that cannot be.
    std::function<std::optional<Evaluation>()> again;
  };

  /// `users`: a tolerance that takes the place of the derived one, if it is not zero. `share`: of a search's time that
  /// all this may take; the first candidate is always looked at, and so are finalists.
  LengthJudgement(const Tolerance& users, double share);
  /// Whether judged() would ask for the candidate's formula, which takes seconds. Thread-safe.
  bool would_ask(const std::optional<Evaluation>& first);
  /// `first`: what the device said, asked for `inquiry`. What is surely not rounding stays as it is. Thread-safe.
  std::optional<Evaluation> judged(std::optional<Evaluation> first, const Inquiry& inquiry, const Ask& ask);

 private:
  /// Why a candidate is not asked about now; empty: it is. `at_any_time`: whatever time all this has taken.
  std::string why_not(bool at_any_time);

  const bool derived_;
  const double share_;
  const Deadline begun_ = Deadline::clock::now();
  std::mutex mutex_;        ///< Guards what follows.
  double seconds_ = 0;      ///< That all this has taken.
  bool has_floats_ = true;  ///< As far as is known, the kernel has.
  std::string never_;       ///< What keeps the original's formula from being asked; or empty.
};

}  // namespace kernelift::sandbox
