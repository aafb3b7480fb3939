// Signals on the application's threads: a handler runs in the middle of anything, and one that ends the process, as
// many do at Ctrl-C, never goes back. What it interrupted keeps its locks: the driver's, CUPTI's, the C library's of
// the heap.
#pragma once

namespace kernelift::record {

/// Whether this thread runs a signal's handler: by the frames of its stack, as far as they can be walked; takes
/// microseconds.
bool in_a_signals_handler();

}  // namespace kernelift::record
