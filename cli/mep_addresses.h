// A MEP's memory is mapped where the application had it (docs/design.md, Addresses). Where something of this process
// lies there by chance, that cannot be: on the CPU device it is an error, on a GPU pointers are relocated as far as
// their types are known. A process that is begun anew lies elsewhere; the runners that map the memory are forked, and
// lie where this process does.
#pragma once
#include "cli/verb.h"
#include "core/model/mep.h"

namespace kernelift::cli {

/// Begins this process anew, three times at most, while it lies in or close to memory that `mep` wants. EXPECTS:
/// nothing was done yet that would be done twice.
void restart_if_addresses_taken(const Mep& mep, const Context& context);

}  // namespace kernelift::cli
