// Enumerators that become names of the file.
//! kind host-code
//! kernel map
//! devices both
//! must refused compile_failed
@KERNEL@enum class Hidden { Success }; using enum Hidden;
