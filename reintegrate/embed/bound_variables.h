// Module variables of embedded code. Embedded code is a module of its own, so a `__constant__` variable that the host
// fills exists a second time in it. Each launch first copies the application's variable to that copy, in the launch's
// stream. This is right because a kernel cannot write constants. Any other variable that is visible outside the module
// is refused by name.
#pragma once
#include <string>
#include <vector>

#include "core/model/mep.h"

namespace kernelift::reintegrate {

struct BoundVariable {
  std::string name;      ///< Name in the PTX.
  std::string spelling;  ///< Qualified name as the application's source spells it.
  uint64_t size = 0;     ///< Bytes.
};

/// The constants that the embedded code must be given; refuses variables that cannot be copied, by name.
Result<std::vector<BoundVariable>> bound_variables(const Mep& mep, const std::string& ptx);

}  // namespace kernelift::reintegrate
