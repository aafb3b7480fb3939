// The text ends in a line comment without a line's end.
//! kind text
//! kernel map
//! devices both
//! must refused compile_failed no-gain
@KERNEL@// the rest