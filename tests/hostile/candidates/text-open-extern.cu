// A linkage block that does not end.
//! kind text
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@extern "C" {
