// An operator that clang takes for one of both sides because it is constexpr: host code that compares errors would use it.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@constexpr bool operator==(cudaError_t, cudaError_t) { return true; }
