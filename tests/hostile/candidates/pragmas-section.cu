// Moves code and data to another section.
//! kind pragmas
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#pragma clang section text=".init_array"
