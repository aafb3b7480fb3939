// A variable that a lambda initialises.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@static int once = [] { return __builtin_printf("hidden"); }();
