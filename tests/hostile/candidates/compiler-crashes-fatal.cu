// Ends the compiler by its own debugging pragma.
//! kind compiler-crashes
//! kernel map
//! devices both
//! must refused compile_failed compile_crashed timed_out
@KERNEL@#pragma clang __debug llvm_fatal_error
