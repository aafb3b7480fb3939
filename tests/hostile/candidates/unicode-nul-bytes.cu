// Bytes of zero in the text.
//! kind unicode
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@@NUL@@NUL@// @NUL@
void hidden@NUL@() {}
