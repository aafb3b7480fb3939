// Replaces operator new for all of the program.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@void* operator new(size_t size) { return __builtin_malloc(size); }
