// A MEP's memory is mapped at its recorded addresses (docs/design.md, Addresses). If this process happens to occupy one
// of them, the memory cannot be mapped: on the CPU device that is an error, on a GPU pointers are relocated as far as
// their types are known. A restarted process is loaded at other addresses; the runners that map the memory are forked
// from it and so have the same layout.
#pragma once
#include "cli/verb.h"
#include "core/model/mep.h"

namespace kernelift::cli {

/// Restarts this process, at most three times, while it occupies or borders on recorded addresses of `mep`. EXPECTS:
/// this process has done nothing yet that must not be done twice.
void restart_if_addresses_taken(const Mep& mep, const Context& context);

}  // namespace kernelift::cli
