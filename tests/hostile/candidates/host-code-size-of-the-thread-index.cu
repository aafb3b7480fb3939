// A constant that is 1 for clang and 12 for nvcc, by which the candidate tells who reads it.
//! kind host-code
//! kernel map
//! devices both
//! must refused
constexpr bool judged = sizeof(threadIdx) == 1;
@KERNEL@
