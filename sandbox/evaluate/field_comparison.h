// Whether candidates compute the original's formulas: both are compiled for field runs, and compared by a runner of the
// CPU device (runner/field/field_equality.h). One that does may be held to the error bounds of the original's sums, for
// which the original is compiled once more (runner/field/length_bounds.h).
#pragma once
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "core/model/candidate/candidate.h"
#include "core/model/verdict/verdict.h"
#include "sandbox/compile/compile_pool.h"
#include "sandbox/evaluate/runner/inquiry.h"

namespace kernelift::sandbox {

/// Why a candidate is not held to error bounds: FieldComparison::add_length_images().
inline constexpr const char* kNoLengthImages = "the original does not compile for it";

class FieldComparison {
 public:
  /// A runner of the CPU device; nullopt: the inquiry's time was over.
  using Judge = std::function<std::optional<Evaluation>(const RunnableCode&, const Inquiry&)>;

  /// EXPECTS: `pool` outlives this. `source`: the kernel's own text, `own`: its compile.
  FieldComparison(CompilePool& pool, std::string source, CompileReply own)
      : pool_(pool), source_(std::move(source)), own_(std::move(own)) {}

  /// A right verdict with what field runs say of the same candidate, which is not right if its formula surely differs.
  static Verdict with_field(Verdict verdict, FieldEquality field);
  /// What field runs say of a candidate. `own`: its compile. `inquiry`: the deadline and era.
  FieldEquality compared(const Candidate& candidate, const CompileReply& own, Inquiry inquiry, const Judge& judge);
  /// RunnableCode::precise and error_bounds. False: the original does not compile for them.
  bool add_length_images(RunnableCode& code);
  /// The evaluation of a finalist with Verdict::field; one that surely computes another formula is not right. `own`:
  /// the candidate's compile.
  Evaluation judged(Evaluation evaluation, const Candidate& candidate, const CompileReply& own, const Inquiry& inquiry,
                    const Judge& judge);

 private:
  CompilePool& pool_;
  const std::string source_;
  const CompileReply own_;
  std::mutex mutex_;
  std::optional<CompileReply> original_, precise_, error_bounds_;
};

}  // namespace kernelift::sandbox
