// Claims to be a header of the system's.
//! kind directives
//! kernel map
//! devices both
//! must refused compile_failed
#line 1 "/usr/include/stdio.h"
void hidden() {}
@KERNEL@