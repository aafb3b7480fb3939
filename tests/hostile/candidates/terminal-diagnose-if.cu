// A message of the candidate's own by diagnose_if.
//! kind terminal
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@__device__ int f(int x) __attribute__((diagnose_if(true, "\033[2J@MARK@", "error")));
__device__ int g() { return f(1); }
