// A macro behind the kernel, its directive split over lines.
//! kind macros
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#de\
fine cudaGetLast\
Error() system("id > @FILE@")
