// A name with a zero-width space.
//! kind unicode
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@int cuda​GetLastError() { return 0; }
