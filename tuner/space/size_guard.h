// Whether a kernel keeps threads past a size from work. A grid that rounds up is no proof: an application whose sizes
// are multiples of its block needs no guard, and writes past the end with a larger block at the next size that is none
// of that.
#pragma once
#include <set>
#include <string>
#include <string_view>

namespace kernelift {

/// Along the axis, true where the text uses one of the `sizes`, which are parameters of the kernel, and some of its
/// stores to memory is made without asking how a thread's place compares with one, around it or in front of it: `a[i] =
/// i + 1 < n ? a[i + 1] : 0;` asks about the neighbour. Works on text alone; where it cannot tell what is a place, a
/// size or a store, false.
bool lacks_guard(std::string_view source, const std::set<std::string>& sizes, int axis);

}  // namespace kernelift
