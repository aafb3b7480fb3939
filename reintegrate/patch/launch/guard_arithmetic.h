// A condition over numbers of a launch as C++ whose arithmetic cannot overflow. A comparison is computed in the type
// that its numbers have at the launch, if that is one type and holds every number in it, whatever the launch passes;
// otherwise in the first of long long, unsigned long long and __int128 that does.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "core/base/result.h"
#include "core/model/launch/expression.h"

namespace kernelift::reintegrate {

/// A number that a launch is asked about.
struct AskedNumber {
  /// Canonical type of C++ of what is asked; empty: a member of a structure, whose type is not known here. Premises
  /// compare one without a sign only with the largest signed number, before anything else (over_declared()).
  std::string type;
  std::function<std::string(const std::string& type)> as;  ///< Its text, converted to that type.
  std::string plain = {};  ///< Its text as an operand, where the launch has it in the kernel's type; else empty.
};

/// Refused: not even __int128 is wide enough, or a division may be one by zero.
Result<std::string> without_overflow(const Expression& condition, const std::map<std::string, AskedNumber>& numbers);

}  // namespace kernelift::reintegrate
