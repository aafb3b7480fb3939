// A device variable of a type with a host destructor.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@struct Hidden { int x; ~Hidden() { __builtin_printf("hidden"); } };
__device__ Hidden* hidden;
