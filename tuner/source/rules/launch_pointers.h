// What an application's launch sites say about pointers that may lead to the same memory. A recording shows the
// launches that ran; the program may have others, behind an option. `relax<<<…>>>(a, a, n)` in its text is reason
// enough to let pointers be.
#pragma once
#include <set>
#include <string>

#include "core/model/mep.h"

namespace kernelift {

/// Pointer parameters that a launch site passes one memory for, as its words show: "a" of "a + n" and "(float *)a"; or
/// a caller of the function that it is in. All of them where sites pass different things: which of them ran when it was
/// recorded is not known.
std::set<size_t> pointers_shared_at_sites(const Mep& mep);

}  // namespace kernelift
