// A pragma in Microsoft's spelling.
//! kind directives
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@__pragma(pack(1))
