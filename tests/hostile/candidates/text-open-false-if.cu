// A condition that swallows what the application has behind it.
//! kind text
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#if 0
