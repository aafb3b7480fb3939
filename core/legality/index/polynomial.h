// An integer Expression as a sum of products: 256 * bid.x + tid.x + arg.a2 * loop.k1. A factor is a variable, or a
// sub-expression that is no sum or product, such as a quotient.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/model/launch/expression.h"

namespace kernelift::legality {

/// It depends on the thread's position, an iteration or a term.
bool has_position(const Expression& expression);

class Polynomial {
 public:
  using Factors = std::vector<std::string>;  ///< Texts of the factors, sorted; one that occurs twice is there twice.

  Polynomial() = default;
  explicit Polynomial(int64_t constant);
  /// nullopt: a coefficient overflows, or there are too many products.
  static std::optional<Polynomial> of(const Expression& expression);

  const std::map<Factors, int64_t>& products() const { return products_; }
  /// What a factor's text stands for.
  static Expression factor(const std::string& text);

  bool add(const Factors& factors, int64_t coefficient);  ///< False on overflow.
  std::optional<Polynomial> minus(const Polynomial& other) const;

 private:
  void join_remainders();

  std::map<Factors, int64_t> products_;  ///< Coefficients, none of them 0.
};

}  // namespace kernelift::legality
