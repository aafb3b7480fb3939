// A macro in front of the kernel, used in the kernel, so that it seems needed.
//! kind macros
//! kernel map
//! devices both
//! must refused compile_failed
#define cudaGetLastError() (system("id > @FILE@"), (cudaGetLastError)())
#define TWO 2
@KERNEL@