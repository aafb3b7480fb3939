// A macro named int.
//! kind macros
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#define int long
