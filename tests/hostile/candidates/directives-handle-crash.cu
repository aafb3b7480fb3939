// Has the compiler write a report of its crash.
//! kind directives
//! kernel map
//! devices both
//! must refused compile_failed compile_crashed
@KERNEL@#pragma clang __debug handle_crash
