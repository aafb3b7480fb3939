// A pragma of OpenMP.
//! kind pragmas
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#pragma omp declare target
#pragma omp end declare target
