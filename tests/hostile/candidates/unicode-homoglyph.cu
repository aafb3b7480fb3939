// A name that looks like the library's, with a Cyrillic letter.
//! kind unicode
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@__host__ __device__ int сudaGetLastError() { return 0; }
