// A managed variable with an initialiser for the host.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@__managed__ int once = __builtin_printf("hidden");
