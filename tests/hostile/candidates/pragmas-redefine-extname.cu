// A new name in the object file by a pragma.
//! kind pragmas
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#pragma redefine_extname harmless system
extern "C" __device__ int harmless(const char*);
