// Redefines a macro by push_macro and pop_macro.
//! kind macros
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#pragma push_macro("cudaSuccess")
#define cudaSuccess 1
