// Code that the device pass skips.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#ifndef __CUDA_ARCH__
static int once = system("id > @FILE@");
#endif
