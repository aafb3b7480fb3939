// A namespace that does not end.
//! kind text
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@namespace hidden {
