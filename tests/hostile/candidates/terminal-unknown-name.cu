// A raw control character in the code.
//! kind terminal
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@int x = @ESC@[2J@MARK@;
