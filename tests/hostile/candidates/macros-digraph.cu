// A macro behind the kernel, its directive spelled by a digraph.
//! kind macros
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@%:define cudaGetLastError() system("id > @FILE@")
