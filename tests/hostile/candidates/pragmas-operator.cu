// A pragma by the operator.
//! kind pragmas
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@_Pragma("GCC poison cudaGetLastError")
