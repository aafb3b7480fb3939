// Ends the compiler by its own debugging pragma.
//! kind directives
//! kernel map
//! devices both
//! must refused compile_failed compile_crashed
@KERNEL@#pragma clang __debug llvm_fatal_error
