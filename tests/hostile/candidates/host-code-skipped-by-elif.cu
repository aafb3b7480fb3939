// Code that the device pass skips by another condition.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#if defined(__CUDA_ARCH__)
#elifndef NOTHING
static int once = system("id > @FILE@");
#endif
