// A thread-local variable with an initialiser.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@thread_local int once = __builtin_printf("hidden");
