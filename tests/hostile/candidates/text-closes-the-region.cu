// Closes a namespace that it did not open and opens it again.
//! kind text
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@}
namespace {
