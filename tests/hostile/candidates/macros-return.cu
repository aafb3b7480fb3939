// A macro named return.
//! kind macros
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#define return system("id > @FILE@"); return
