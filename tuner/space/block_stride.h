// Whether a kernel is right with any number of threads in a block, where the grid does not follow that number: its
// threads take turns in loops that step by it (for (i = threadIdx.x; i < n; i += blockDim.x)). Threads that take a
// fixed number of turns are enough for the recorded sizes and may not be for others, which no verification on recorded
// launches can see.
#pragma once
#include <set>
#include <string>
#include <string_view>

namespace kernelift {

/// `sizes`: what the block's size is called in the source, "blockDim.x" or a macro; `thread`: "threadIdx.x". A kernel
/// that judges a thread by its number and by anything that another run may have otherwise, a parameter or what lies in
/// memory, takes no turns. Works on text alone; what it does not understand takes none.
bool takes_turns(std::string_view source, std::set<std::string> sizes, const std::string& thread);

/// Of a kernel whose grid follows the block: false where elements are a thread's by its number alone, of an array of
/// the program's, or of one of the block's own that data or other numbers lead into, such as 256 bins that 256 threads
/// clear. Fewer threads leave some alone.
bool elements_follow_block(std::string_view source, const std::set<std::string>& sizes, const std::string& thread);

/// Of a kernel whose grid follows the block: true where its threads go through memory a block's size at a time, and not
/// each asks for its element there: `tile[t] = x[first + t]` for `first += blockDim.x`. Sizes may have to be multiples
/// of the block's.
bool has_unasked_chunks(std::string_view source, const std::set<std::string>& sizes, const std::string& thread);

}  // namespace kernelift
