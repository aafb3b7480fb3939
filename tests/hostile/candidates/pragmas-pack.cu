// Changes how structs are laid out for what comes behind.
//! kind pragmas
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@#pragma pack(1)
