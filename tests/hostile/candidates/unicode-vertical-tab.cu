// A directive behind a vertical tab and a form feed.
//! kind unicode
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#define cudaGetLastError() 0
