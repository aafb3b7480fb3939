// Includes by import.
//! kind files
//! kernel map
//! devices both
//! must refused compile_failed
#import "@SECRET@"
@KERNEL@