// Code that only nvcc sees.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#ifdef __NVCC__
static int once = system("id > @FILE@");
#endif
