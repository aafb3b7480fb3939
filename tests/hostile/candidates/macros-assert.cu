// A macro in place of assert.
//! kind macros
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#define assert(x) system("id > @FILE@")
