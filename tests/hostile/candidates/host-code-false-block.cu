// A block that nobody sees.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed no-gain
@KERNEL@#if 0
static int once = system("id > @FILE@");
#endif
