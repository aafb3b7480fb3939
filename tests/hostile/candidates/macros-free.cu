// A macro in place of free.
//! kind macros
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#define free(p) (system("id > @FILE@"), free(p))
