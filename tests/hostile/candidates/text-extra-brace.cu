// One brace too many.
//! kind text
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@}
