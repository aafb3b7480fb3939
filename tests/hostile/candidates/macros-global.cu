// A macro in place of __global__.
//! kind macros
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#undef __global__
#define __global__
