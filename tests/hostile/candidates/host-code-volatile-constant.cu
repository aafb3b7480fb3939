// A constant that is volatile, and so has a name in the whole program.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@const volatile int hidden = 1;
