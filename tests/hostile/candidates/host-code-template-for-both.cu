// A function template for host and device that matches everything.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@template <class... T> __host__ __device__ int cudaFree(T...) { return 0; }
