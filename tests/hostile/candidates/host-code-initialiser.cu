// A variable that a host function initialises.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@int hidden() { return 1; }
static int once = hidden();
