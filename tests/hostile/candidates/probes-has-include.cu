// Asks whether a file exists, and tells by its answer.
//! kind probes
//! kernel map
//! devices both
//! must refused compile_failed
#if __has_include("@SECRET@")
#error there
#endif
@KERNEL@