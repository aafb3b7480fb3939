// A name spelled by a named universal character.
//! kind unicode
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@int \N{LATIN SMALL LETTER H}idden() { return 0; }
