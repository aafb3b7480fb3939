// See launch_values.h.
#include "core/model/launch_values.h"

namespace kernelift {

Bindings with_arguments(const Mep& mep, const MepInstance& instance, Bindings values) {
  for (size_t p = 0; p < mep.parameters.size(); ++p)
    if (auto value = mep.integer_argument(instance, p)) values.emplace(mep.parameters[p].name, *value);
  return values;
}

}  // namespace kernelift
