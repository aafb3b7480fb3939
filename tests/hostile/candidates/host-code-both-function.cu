// A function for host and device that shadows one of the library for some argument types.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@__host__ __device__ inline int printf(const char*, float, float) { return 0; }
