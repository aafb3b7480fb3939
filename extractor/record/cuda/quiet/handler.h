// Whether this thread runs a signal's handler: what it interrupted may hold any lock of the driver's, of CUPTI's or of the
// C library's, for as long as the handler runs; and a handler that ends the process never goes back.
#pragma once

namespace kernelift {

/// By the frames of this thread's stack, as far as they can be walked; takes microseconds.
bool in_a_signals_handler();

}  // namespace kernelift
