// A macro in place of assert.
//! kind macros
//! kernel map
//! devices both
//! must refused compile_failed
//! gap the lean headers do not define assert before the candidate's text
@KERNEL@#define assert(x) system("id > @FILE@")
