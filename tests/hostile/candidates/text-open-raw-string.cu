// A raw string that does not end.
//! kind text
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@__device__ const char* text = R"(
