// Has a file's date looked at.
//! kind probes
//! kernel map
//! devices both
//! must refused compile_failed
#pragma GCC dependency "@SECRET@"
@KERNEL@