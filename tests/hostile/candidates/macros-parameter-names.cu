// A macro with the name of a local variable of the host.
//! kind macros
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#define n (system("id > @FILE@"), n)
