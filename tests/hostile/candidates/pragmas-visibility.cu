// Hides everything that comes behind.
//! kind pragmas
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#pragma GCC visibility push(hidden)
