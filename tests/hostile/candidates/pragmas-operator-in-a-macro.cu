// A pragma by the operator in a macro.
//! kind pragmas
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#define HIDDEN _Pragma("push_macro(\"cudaSuccess\")")
HIDDEN
