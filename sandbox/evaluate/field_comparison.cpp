// See field_comparison.h.
#include "sandbox/evaluate/field_comparison.h"

#include "sandbox/evaluate/evaluation_queue.h"

namespace kernelift::sandbox {

Verdict FieldComparison::with_field(Verdict verdict, FieldEquality field) {
  if (field.found == FieldEquality::Found::Differs) {
    verdict.outcome = Outcome::Wrong, verdict.stage = Stage::Verify, verdict.instance = field.instance;
    verdict.detail = field.text();
    verdict.timings.clear(), verdict.embedded.reset(), verdict.by_clang.reset();
  }
  verdict.field = std::move(field);
  return verdict;
}

FieldEquality FieldComparison::compared(const Candidate& candidate, const CompileReply& own, Inquiry inquiry,
                                        const Judge& judge) {
  FieldEquality field;
  CompileReply original;
  {
    std::lock_guard lock(mutex_);
    if (!original_) original_ = pool_.compile_for_field(source_, own_);
    original = *original_;
  }
  CompileReply compiled = original.ok() ? pool_.compile_for_field(candidate.source, own) : original;
  if (!compiled.ok()) {
    field.why = "it does not compile for that: " + compiled.detail;
    return field;
  }
  RunnableCode code = runnable_code(candidate, compiled.image);
  code.original = original.image;
  inquiry.field = true, inquiry.confirm = true;
  auto answer = judge(code, inquiry);
  auto* said = answer ? std::get_if<Verdict>(&*answer) : nullptr;
  if (said && said->field) return std::move(*said->field);
  field.why = !answer ? "there was no time left" : said ? said->detail : std::get<NotJudged>(*answer).why;
  return field;
}

bool FieldComparison::add_length_images(RunnableCode& code) {
  std::lock_guard lock(mutex_);
  if (!precise_) precise_ = pool_.compile_for_field(source_, own_, NumberKind::Precise);
  if (!error_bounds_) error_bounds_ = pool_.compile_for_field(source_, own_, NumberKind::ErrorBounds);
  if (!precise_->ok() || !error_bounds_->ok()) return false;
  code.precise = precise_->image, code.error_bounds = error_bounds_->image;
  return true;
}

Evaluation FieldComparison::judged(Evaluation evaluation, const Candidate& candidate, const CompileReply& own,
                                   const Inquiry& inquiry, const Judge& judge) {
  auto* verdict = std::get_if<Verdict>(&evaluation);
  if (!verdict || !verdict->ok()) return evaluation;
  return with_field(std::move(*verdict), compared(candidate, own, inquiry, judge));
}

}  // namespace kernelift::sandbox
