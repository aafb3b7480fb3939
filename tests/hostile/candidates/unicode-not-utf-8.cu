// Bytes that are no UTF-8.
//! kind unicode
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@// @FF@@FF@
int hidden@FF@;
