// Poisons a name that the application uses.
//! kind macros
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#pragma GCC poison cudaGetLastError
