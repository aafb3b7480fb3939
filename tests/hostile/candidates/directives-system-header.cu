// Declares itself a system header.
//! kind directives
//! kernel map
//! devices both
//! must refused compile_failed
#pragma GCC system_header
void hidden() {}
@KERNEL@