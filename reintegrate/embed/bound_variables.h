// Module variables of embedded code. Embedded code is another module, so a `__constant__` variable that the host fills
// is another variable there. It is kept the same: each launch first copies the application's variable to it, in the
// launch's stream. That is right because a kernel cannot write constants; any other variable that others can see is
// refused by name.
#pragma once
#include <string>
#include <vector>

#include "core/model/mep.h"

namespace kernelift {

struct BoundVariable {
  std::string name;      ///< In the PTX.
  std::string spelling;  ///< In the application's source.
  uint64_t size = 0;
};

Result<std::vector<BoundVariable>> bound_variables(const Mep& mep, const std::string& ptx);

}  // namespace kernelift
