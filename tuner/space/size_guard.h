// Whether a kernel keeps threads past the problem size from working. A grid that is rounded up does not prove it: an
// application whose sizes are multiples of its block needs no guard, and writes out of bounds with a larger block whose
// size does not divide them.
#pragma once
#include <set>
#include <string>
#include <string_view>

namespace kernelift::tuner {

/// true if the text uses one of the `sizes` (kernel parameters), and one of its stores to memory is not guarded by a
/// comparison of a thread's index along the axis with a size. `a[i] = i + 1 < n ? a[i + 1] : 0;` compares the
/// neighbour's index and not that of the store. It works on text alone; false if indices, sizes or stores cannot be
/// identified.
bool lacks_guard(std::string_view source, const std::set<std::string>& sizes, int axis);

}  // namespace kernelift::tuner
