// Includes a device that never ends.
//! kind files
//! kernel map
//! devices both
//! must refused compile_failed
#include "/dev/zero"
@KERNEL@