// Has a file's date looked at.
//! kind files
//! kernel map
//! devices both
//! must refused compile_failed
#pragma GCC dependency "@SECRET@"
@KERNEL@