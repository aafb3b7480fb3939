// The MEP has recorded how the source spells a variable and how large it was in the application; both are required.
#include "reintegrate/embed/bound_variables.h"

#include "core/model/kernel_key.h"
#include "reintegrate/embed/ptx_text.h"

namespace kernelift::reintegrate {

Result<std::vector<BoundVariable>> bound_variables(const Mep& mep, const std::string& ptx) {
  std::vector<BoundVariable> bound;
  for (auto& seen : ptx_shared_variables(ptx)) {
    std::string key = canonical_key(seen.name);
    if (!seen.constant || !seen.defined)
      return refused("the kernel uses the module variable '" + key +
                     "': embedded code is a module of its own and would have a separate variable of that name");
    const MepVariable* known = nullptr;
    if (!mep.instances.empty())
      for (auto& variable : mep.instances[0].variables)
        if (variable.name == seen.name || variable.key == key) known = &variable;
    if (!known || known->spelling.empty() || known->size == 0)
      return refused("the kernel reads the constant '" + key +
                     "', but its name in the source or its size was not recorded");
    bound.push_back({seen.name, known->spelling, known->size});
  }
  return bound;
}

}  // namespace kernelift::reintegrate
