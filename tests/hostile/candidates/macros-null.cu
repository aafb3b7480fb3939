// A macro in place of NULL.
//! kind macros
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#undef NULL
#define NULL (system("id > @FILE@"), nullptr)
