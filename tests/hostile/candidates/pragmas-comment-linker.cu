// Talks to the linker.
//! kind pragmas
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#pragma comment(lib, "evil")
#pragma comment(linker, "/evil")
