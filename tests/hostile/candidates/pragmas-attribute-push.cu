// Gives every function an attribute.
//! kind pragmas
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#pragma clang attribute push(__attribute__((constructor)), apply_to = function)
