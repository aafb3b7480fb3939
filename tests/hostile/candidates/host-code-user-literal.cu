// A literal operator for the host.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@int operator""_hidden(unsigned long long) { return __builtin_printf("hidden"); }
