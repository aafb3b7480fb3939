// An operator for host and device that host code picks up.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@__host__ __device__ inline dim3 operator+(dim3 a, dim3 b) { return dim3(a.x + b.x); }
