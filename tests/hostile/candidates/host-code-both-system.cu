// Declares system for host and device.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@extern "C" __host__ __device__ int system(const char*);
