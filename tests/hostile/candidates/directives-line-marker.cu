// Claims by a line marker to be a system header.
//! kind directives
//! kernel map
//! devices both
//! must refused compile_failed
# 1 "/usr/include/stdio.h" 1 3
void hidden() {}
# 1 "kernel.cu" 2
@KERNEL@