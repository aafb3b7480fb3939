// Includes by include_next.
//! kind files
//! kernel map
//! devices both
//! must refused compile_failed
#include_next <limits.h>
@KERNEL@