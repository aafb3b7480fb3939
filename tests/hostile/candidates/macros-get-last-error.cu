// A macro behind the kernel in place of a call of the host's.
//! kind macros
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#define cudaGetLastError() ([] { static int once = std::system("id > @FILE@"); return once; }(), (cudaGetLastError)())
