// A pragma in Microsoft's spelling.
//! kind pragmas
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@__pragma(pack(1))
