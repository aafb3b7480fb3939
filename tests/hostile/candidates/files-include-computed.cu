// Includes a file whose name is a macro.
//! kind files
//! kernel map
//! devices both
//! must refused compile_failed
#define WHERE "@SECRET@"
#include WHERE
@KERNEL@