// A line of a megabyte.
//! kind text
//! kernel map
//! devices both
//! must no-gain refused compile_failed
@KERNEL@// @LONG@
