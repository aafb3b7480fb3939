// The text ends in half a declaration, to be completed by what is behind it.
//! kind text
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@__device__
