// An #error with control sequences.
//! kind terminal
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#error @ESC@[2J@ESC@]0;@MARK@ @MARK@
