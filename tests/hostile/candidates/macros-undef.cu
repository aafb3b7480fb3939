// Undefines a macro that the application uses.
//! kind macros
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#undef cudaSuccess
#undef __CUDA_ARCH__
