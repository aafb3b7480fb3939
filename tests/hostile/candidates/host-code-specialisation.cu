// Specialises a template of the library for host and device.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@namespace std { template <class T> struct hash; template <> struct hash<int*> { __host__ __device__ size_t operator()(int*) const { return 0; } }; }
