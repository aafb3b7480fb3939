// What field runs say of a candidate: whether it computes the same rational functions of the floats that it is given as
// the original (sandbox/evaluate/runner/field/field_equality.h).
#pragma once
#include <string>

#include "core/base/json.h"

namespace kernelift {

struct FieldEquality {
  enum class Found {
    Equal,
    Differs,   ///< `why` says where.
    NotKnown,  ///< Unequal, and it meets what is no rational function: `why` names it.
    NotRun,    ///< `why` says what kept it.
  };
  Found found = Found::NotRun;
  std::string why;
  /// Equal: "the comparison at kernel.cu:12", if recorded floats decided there what is computed; it is equal wherever
  /// they decide so. Empty: for all values of the floats.
  std::string decided;
  std::string function;            ///< Equal: "exp at kernel.cu:9", of which only that was used that it is a function.
  bool constants_rounded = false;  ///< Equal: but for the rounding of constants: 0.1f for 0.1.
  int samples = 0;                 ///< Random inputs on which both were run.
  double error_probability = 1;    ///< Equal: that they are not, at most, if their degree is below kMostDegree.
  static constexpr double kMostDegree = 2147483648.0;
  std::string instance;  ///< The recorded input whose integers, sizes and launch were used.
  double seconds = 0;    ///< All runs of both.

  std::string text() const;  ///< For a person.
};

Json to_json(const FieldEquality&);
/// Throws as Json does; for reading() alone.
FieldEquality field_equality_from_json(const Json&);

}  // namespace kernelift
