// A better overload for host code, in a namespace whose names are those of the file.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@inline namespace hidden { constexpr double fabs(int x) { return 0; } }
