// Includes the worker's environment.
//! kind files
//! kernel map
//! devices both
//! must refused compile_failed
#include "/proc/self/environ"
@KERNEL@