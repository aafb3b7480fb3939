// Includes itself for ever.
//! kind files
//! kernel map
//! devices both
//! must refused compile_failed
#include __FILE__
@KERNEL@