// Imports a module by a pragma.
//! kind modules
//! kernel map
//! devices both
//! must refused compile_failed
#pragma clang module import evil
#pragma clang module load evil
@KERNEL@