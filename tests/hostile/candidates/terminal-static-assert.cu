// Fails to compile with control sequences in the message.
//! kind terminal
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@static_assert(false, "\033[2J@MARK@ @ESC@[31m");
