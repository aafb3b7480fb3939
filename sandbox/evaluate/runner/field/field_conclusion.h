// What follows from two field runs, the original's and a candidate's.
#pragma once
#include <string>

#include "core/model/launch/field_run.h"
#include "core/model/verdict/field_equality.h"

namespace kernelift::sandbox {

/// The numbers that both left in memory.
struct FieldNumbers {
  bool equal = false, surely = false;  ///< surely: two numbers, where they differ.
  std::string where;                   ///< "out[12]"
};

/// `why` of a kernel that has no floats: Found::NotRun.
inline constexpr const char* kNoFloats = "it has no floating-point arithmetic";

/// Begins `why` of a candidate whose original was not run to its end: Found::NotRun.
inline constexpr const char* kOfOriginal = "the original: ";
/// What it says holds of every candidate: nothing is said of any.
bool is_about_original(const FieldEquality& field);

/// FieldEquality::found, why, decided, function and error_probability.
FieldEquality concluded(const FieldReport& original, const FieldReport& candidate, const FieldNumbers& numbers);

}  // namespace kernelift::sandbox
