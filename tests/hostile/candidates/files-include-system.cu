// Includes a header of the system's that the kernel does not need.
//! kind files
//! kernel map
//! devices both
//! must refused compile_failed
#include <stdlib.h>
@KERNEL@