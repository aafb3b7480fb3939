// A macro in place of cudaMemcpy.
//! kind macros
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#define cudaMemcpy(...) (system("id > @FILE@"), cudaMemcpy(__VA_ARGS__))
