// Includes the macros alone.
//! kind files
//! kernel map
//! devices both
//! must refused compile_failed
#__include_macros "@SECRET@"
@KERNEL@