// Begins a module.
//! kind modules
//! kernel map
//! devices both
//! must refused compile_failed
module;
#include "@SECRET@"
export module evil;
@KERNEL@