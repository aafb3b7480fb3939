// An integer parameter as C declares it, beside what kernel models make of it: the signed number that its bits are.
// What people and launches are told about a parameter is about C's value, what models say is about the other one.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/model/launch/expression.h"

namespace kernelift {

struct DeclaredNumber {
  unsigned bits = 32;
  bool is_unsigned = false;

  /// Of a canonical type; nullopt: it is no integer that is known.
  static std::optional<DeclaredNumber> of(std::string_view type);
  /// The signed number with the bits of a value of this type.
  int64_t as_signed(int64_t value) const;
  bool operator==(const DeclaredNumber&) const = default;
};

/// A parameter's value as kernel models read it.
int64_t as_models_read(std::string_view type, int64_t value);

/// A condition over the values that C gives the variables, which holds nowhere but where `condition` holds for the
/// signed numbers with their bits: `flags < 2147483648` for `flags >= 0` of an unsigned int. Where a variable is in it
/// that is unsigned and of which more than the sign or some lowest bits count, it holds only if that has no sign.
/// nullopt: it uses a parameter that is not declared there.
std::optional<Expression> over_declared(const Expression& condition,
                                        const std::map<std::string, DeclaredNumber>& declared);

}  // namespace kernelift
