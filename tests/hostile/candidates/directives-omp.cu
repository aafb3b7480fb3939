// A pragma of OpenMP.
//! kind directives
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#pragma omp declare target
#pragma omp end declare target
