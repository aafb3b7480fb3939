// A class with virtual functions for both, whose table is the host's.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@struct Hidden { __host__ __device__ virtual int f() { return __builtin_printf("hidden"); } };
__device__ Hidden* hidden;
