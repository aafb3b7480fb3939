// Has the compiler write a report of its crash.
//! kind compiler-crashes
//! kernel map
//! devices both
//! must refused compile_failed compile_crashed timed_out
@KERNEL@#pragma clang __debug handle_crash
