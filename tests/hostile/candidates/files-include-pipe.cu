// Includes the worker's own standard input.
//! kind files
//! kernel map
//! devices both
//! must refused compile_failed
#include "/dev/stdin"
@KERNEL@