// A pragma by the operator in a macro.
//! kind directives
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#define HIDDEN _Pragma("push_macro(\"cudaSuccess\")")
HIDDEN
