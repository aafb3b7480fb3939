// See length_judgement.h.
#include "sandbox/evaluate/length_judgement.h"

#include <algorithm>
#include <cmath>

#include "sandbox/evaluate/runner/field/field_conclusion.h"

namespace kernelift::sandbox {
namespace {

constexpr std::chrono::seconds kLongestFieldRuns{10};

/// Floats may be so by rounding alone. A zero's other sign is not. Of a size that is not shown no values are told.
bool may_be_rounding(const Verdict& verdict) {
  if (verdict.outcome != Outcome::Wrong) return false;
  const bool unshown = verdict.sizes_run && verdict.sizes_run->wrong && !verdict.sizes_run->wrong->shown;
  return unshown || (!verdict.buffer.empty() && std::isfinite(verdict.distance) && verdict.distance > 0);
}

}  // namespace

LengthJudgement::LengthJudgement(const Tolerance& users, double share)
    : derived_(users.relative <= 0 && users.absolute <= 0), share_(share) {}

std::string LengthJudgement::why_not(bool at_any_time) {
  std::lock_guard lock(mutex_);
  if (!never_.empty()) return never_;
  return at_any_time || seconds_ <= share_ * seconds_since(begun_) ? "" : "the search has no more time for it";
}

bool LengthJudgement::would_ask(const std::optional<Evaluation>& first) {
  auto* refused = first ? std::get_if<Verdict>(&*first) : nullptr;
  if (!refused || !derived_ || !may_be_rounding(*refused)) return false;
  std::lock_guard lock(mutex_);
  return has_floats_ && never_.empty();
}

std::optional<Evaluation> LengthJudgement::judged(std::optional<Evaluation> first, const Inquiry& inquiry,
                                                  const Ask& ask) {
  auto* refused = first ? std::get_if<Verdict>(&*first) : nullptr;
  if (!refused || !derived_ || !may_be_rounding(*refused)) return first;
  {
    std::lock_guard lock(mutex_);
    if (!has_floats_) return first;
  }
  auto refuse = [&](const std::string& why) {
    refused->detail += "; not held to the error bounds of the original's sums: " + why;
    return std::move(first);
  };
  if (std::string why = why_not(inquiry.confirm || ask.known); !why.empty()) return refuse(why);
  const auto begin = Deadline::clock::now();
  const Deadline longest = begin + kLongestFieldRuns, until = std::min(inquiry.deadline.value_or(longest), longest);
  const FieldEquality field = ask.formula(until);
  const bool in_time = Deadline::clock::now() < until;
  std::optional<Evaluation> again;
  if (field.found == FieldEquality::Found::Equal) again = ask.again();
  {
    std::lock_guard lock(mutex_);
    seconds_ += seconds_since(begin);
    has_floats_ = field.why != kNoFloats;
    if (is_about_original(field) && in_time) never_ = field.text();
    if (!has_floats_) return first;
  }
  const bool over = inquiry.confirm && inquiry.deadline && Deadline::clock::now() >= *inquiry.deadline;
  if (field.found == FieldEquality::Found::NotRun && over) return std::nullopt;
  if (field.found != FieldEquality::Found::Equal) return refuse(field.text());
  if (!again && inquiry.confirm) return std::nullopt;
  if (!again) return first;
  if (auto* untold = std::get_if<NotJudged>(&*again)) return refuse(untold->why);
  Verdict& verdict = std::get<Verdict>(*again);
  if (verdict.ok())
    verdict.detail =
        "beyond the tolerance that is derived from the original (" + refused->detail +
        "), but it computes the original's formula, and all it leaves is within the error bounds of the original's "
        "sums of what a run in higher precision leaves" +
        (verdict.detail.empty() ? "" : "; " + verdict.detail);
  return again;
}

}  // namespace kernelift::sandbox
