// Conditions as Expressions that are 0 or 1, put together without what is constant or follows from the rest.
#pragma once
#include "core/model/launch/expression.h"

namespace kernelift {

Expression number(int64_t value);
Expression both(Expression a, Expression b);
Expression either(Expression a, Expression b);
Expression negation(const Expression& condition);

}  // namespace kernelift
