// Pointer parameters that an application's launch sites may pass the same memory for. A recording shows only the
// launches that ran, and the program may have others, behind an option: if its text contains `relax<<<…>>>(a, a, n)`,
// no rule may assume that these pointers do not overlap.
#pragma once
#include <set>
#include <string>

#include "core/model/mep.h"

namespace kernelift::tuner {

/// Pointer parameters for which one launch site passes the same memory ("a + n" and "(float *)a"), by its text or by
/// the text of a call of the enclosing function. All pointer parameters if there are several sites, and the arguments
/// of one are not known.
std::set<size_t> pointers_shared_at_sites(const Mep& mep);

}  // namespace kernelift::tuner
