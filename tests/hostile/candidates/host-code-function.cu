// A host function.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@void hidden() { __builtin_printf("hidden"); }
