// Whether a kernel is right with any number of threads per block, if the grid does not follow that number: its threads
// have block-stride loops (for (i = threadIdx.x; i < n; i += blockDim.x)). Threads with a fixed number of iterations
// suffice for the recorded sizes and may not for others, which verification on recorded launches cannot show.
#pragma once
#include <set>
#include <string>
#include <string_view>

namespace kernelift::tuner {

/// Whether all work that depends on the thread is in block-stride loops. `sizes`: names of the block's size in the
/// source
/// ("blockDim.x" or a macro); `thread`: "threadIdx.x". false if a condition combines the thread's index with values
/// that other runs may change (a parameter, data in memory), and for text that is not understood.
bool has_block_stride_loops(std::string_view source, std::set<std::string> sizes, const std::string& thread);

/// For a kernel whose grid follows the block: false if elements are assigned to threads by threadIdx alone, in global
/// memory or in a shared array that is also indexed otherwise, such as 256 bins that 256 threads clear. Fewer threads
/// would skip some of them.
bool elements_follow_block(std::string_view source, const std::set<std::string>& sizes, const std::string& thread);

/// For a kernel whose grid follows the block: true if its threads process memory one block size at a time without
/// comparing each index with a size: `tile[t] = x[first + t]` with `first += blockDim.x`. Problem sizes may have to be
/// multiples of the block's size.
bool has_unguarded_chunks(std::string_view source, const std::set<std::string>& sizes, const std::string& thread);

}  // namespace kernelift::tuner
