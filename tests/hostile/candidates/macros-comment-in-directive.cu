// A macro behind the kernel, a comment between hash and word.
//! kind macros
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@# /* nothing */ define cudaGetLastError() system("id > @FILE@")
