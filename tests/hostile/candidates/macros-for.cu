// A macro named for.
//! kind macros
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#define for if (system("id > @FILE@")) {} else for
