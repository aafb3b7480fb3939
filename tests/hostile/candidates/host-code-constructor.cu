// An object at namespace scope whose constructor is for host and device.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@struct Hidden { __host__ __device__ Hidden() { __builtin_printf("hidden"); } };
static Hidden hidden;
