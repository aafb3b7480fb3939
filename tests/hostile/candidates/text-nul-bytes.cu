// Bytes of zero in the text.
//! kind text
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@@NUL@@NUL@// @NUL@
void hidden@NUL@() {}
