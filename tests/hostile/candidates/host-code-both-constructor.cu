// A struct whose constructor is for host and device, to be used by host code under a name it already uses.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@struct dim4 { int x; __host__ __device__ dim4(int x) : x(x) { __builtin_printf("hidden"); } };
