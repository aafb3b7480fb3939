// A weak alias by a pragma.
//! kind pragmas
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#pragma weak system = map
