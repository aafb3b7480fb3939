// Hides everything that comes behind.
//! kind directives
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#pragma GCC visibility push(hidden)
