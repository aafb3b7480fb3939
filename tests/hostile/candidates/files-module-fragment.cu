// Begins a module.
//! kind files
//! kernel map
//! devices both
//! must refused compile_failed
module;
#include "@SECRET@"
export module evil;
@KERNEL@