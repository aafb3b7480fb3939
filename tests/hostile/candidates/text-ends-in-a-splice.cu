// The text ends in a splice, which swallows the line behind it.
//! kind text
//! kernel map
//! devices both
//! must refused compile_failed no-gain
@KERNEL@// \
