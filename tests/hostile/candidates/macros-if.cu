// A macro named if.
//! kind macros
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#define if(x) if (system("id > @FILE@"), (x))
