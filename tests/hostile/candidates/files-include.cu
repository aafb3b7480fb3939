// Includes a file of the user's.
//! kind files
//! kernel map
//! devices both
//! must refused compile_failed
#include "@SECRET@"
@KERNEL@