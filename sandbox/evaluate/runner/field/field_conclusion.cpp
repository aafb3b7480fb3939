// See field_conclusion.h. Unequal numbers surely are other formulas only where both computed nothing but rational
// functions: with other functions, recorded values that decide, or constants that may stand for several numbers, right
// code may leave others, too.
#include "sandbox/evaluate/runner/field/field_conclusion.h"

#include <algorithm>

namespace kernelift::sandbox {
namespace {

constexpr double kPrime = 2305843009213693951.0;  // 2^61 - 1.

/// Whether the difference of two formulas may be that of how their constants were folded: each has one that the other
/// has not.
bool may_fold_otherwise(const FieldReport& one, const FieldReport& other) {
  return !std::ranges::includes(one.constants, other.constants) &&
         !std::ranges::includes(other.constants, one.constants);
}

}  // namespace

bool is_about_original(const FieldEquality& field) {
  return field.found == FieldEquality::Found::NotRun && field.why.starts_with(kOfOriginal);
}

FieldEquality concluded(const FieldReport& original, const FieldReport& candidate, const FieldNumbers& numbers) {
  using Found = FieldEquality::Found;
  FieldEquality answer;
  const std::string& decided = original.decided.empty() ? candidate.decided : original.decided;
  const std::string& function = original.function.empty() ? candidate.function : original.function;
  if (!original.floats && !candidate.floats) {
    answer.why = kNoFloats;
  } else if (original.divisions_by_zero + candidate.divisions_by_zero > 0) {
    answer.found = Found::NotKnown, answer.why = "it divides by zero";
  } else if (numbers.equal) {
    answer.found = Found::Equal, answer.decided = decided, answer.function = function;
    answer.error_probability = 2 * FieldEquality::kMostDegree / kPrime;
  } else {
    const std::string what = numbers.where + " is another number; ";
    answer.found = Found::NotKnown;
    if (!decided.empty()) answer.why = what + decided + " is no part of a rational function";
    else if (!function.empty()) answer.why = what + function + " is no rational function";
    else if (!numbers.surely) answer.why = numbers.where + " may be a float or an integer";
    else if (may_fold_otherwise(original, candidate)) answer.why = what + "it has other constants";
    else answer.found = Found::Differs, answer.why = numbers.where + " is another number";
  }
  return answer;
}

}  // namespace kernelift::sandbox
